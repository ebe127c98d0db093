# SPDX-License-Identifier: MIT
"""C-15: many start one countdown at once, on one node or on several."""
import threading
import time

from support import same

KEY = "a"
TOPIC = f"/topic/countdown.{KEY}"


def race_to_start(*nodes):
    """Sixteen starts by two owners; answers with the one countdown that was made, and what the others were told."""
    answers = []

    def ask(node, owner):
        answers.append((owner, node.put(f"/v1/countdowns/{KEY}", {"owner": owner, "for": "3s", "version": "7"}, None)))
    threads = [threading.Thread(target=ask, args=(nodes[n % len(nodes)], f"o{n // len(nodes) % 2}")) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made, = (answer for _, answer in answers if answer.status == 201)
    for owner, answer in answers:
        if owner == made["owner"]:
            same((answer.status in (200, 201), answer["deadline_ms"]), (True, made["deadline_ms"]), answer)
    return made, [answer for owner, answer in answers if owner != made["owner"]]


def frames_of_one_countdown(topic):
    """A tick a second and one timeout, as a Listener has heard them."""
    topic.wait(lambda: any(frame["type"] == "TIMEOUT" for frame in topic.frames(TOPIC)), "its timeout")
    time.sleep(0.5)  # a second timeout would come with the first
    frames = topic.frames(TOPIC)
    same([frame["payload"]["left"] for frame in frames if frame["type"] == "TICK"], [3, 2, 1], "a tick a second")
    same([frame["type"] for frame in frames if frame["type"] != "TICK"], ["STARTED", "TIMEOUT"])
    return frames
