// SPDX-License-Identifier: MIT
// debounce.cpp - several threads, one wheel: save a document when its writer pauses.
//
// Four writers change a document each. Every change arms a timer through the inbox and
// cancels the one before it, so that only a pause of 20 ms lets a timer come out. The
// main thread owns the wheel: it drains the inbox, turns the wheel, and sleeps in
// between. No lock is taken to arm or cancel.
//
//     c++ -std=c++17 -pthread debounce.cpp $(pkg-config --cflags --libs tocsin) -o debounce
#include <tocsin/inbox.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

namespace
{

constexpr unsigned writers = 4;
constexpr unsigned changes = 5000;
constexpr uint64_t pause_ms = 20;

uint64_t now_ms()
{
    using namespace std::chrono;
    return static_cast<uint64_t>(
        duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count());
}

// Where the owner sleeps. The inbox calls ring when something was pushed meanwhile.
class bell
{
  public:
    static void ring(void *self)
    {
        auto *bell = static_cast<class bell *>(self);
        std::lock_guard<std::mutex> lock(bell->mutex_);
        bell->rung_ = true;
        bell->condition_.notify_one();
    }

    void sleep(bool limited, uint64_t until_ms)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        auto rung = [this] { return rung_; };
        auto until = std::chrono::steady_clock::time_point(std::chrono::milliseconds(until_ms));
        if (limited)
            condition_.wait_until(lock, until, rung);
        else
            condition_.wait(lock, rung);
        rung_ = false;
    }

  private:
    std::mutex mutex_;
    std::condition_variable condition_;
    bool rung_ = false;
};

// What the owner has seen. A cookie is the document and the number of the change.
struct journal {
    unsigned saves[writers] = {};
    uint32_t saved_change[writers] = {};
    size_t armed = 0, cancelled = 0, too_late = 0;
};

void save(void *arg, const tocsin_due *due)
{
    auto *seen = static_cast<journal *>(arg);
    auto document = due->cookie >> 32;
    seen->saves[document]++;
    seen->saved_change[document] = static_cast<uint32_t>(due->cookie);
}

// FULL is an answer, never a block: the writer decides what to do. Here it tries again.
template <typename Push> void until_pushed(Push push)
{
    while (push() == TOCSIN_FULL)
        std::this_thread::yield();
}

void write_document(tocsin_inbox *inbox, unsigned document)
{
    tocsin_timer last = {};
    for (uint32_t change = 1; change <= changes; change++) {
        uint64_t cookie = uint64_t{document} << 32 | change;
        tocsin_timer ticket = {};
        until_pushed([&] { return tocsin_inbox_arm(inbox, now_ms() + pause_ms, cookie, &ticket); });
        if (change > 1)
            until_pushed([&] { return tocsin_inbox_cancel(inbox, last); });
        last = ticket;
    }
}

// Until the writers are done and the last timer is out.
void own(tocsin_wheel *wheel, tocsin_inbox *inbox, bell &bell, std::atomic<unsigned> &writing,
         journal &seen)
{
    for (;;) {
        bool last_look = writing == 0; // asked first: what they pushed is then there to drain
        tocsin_inbox_report report;
        tocsin_inbox_drain(inbox, 0, &report);
        seen.armed += report.armed;
        seen.cancelled += report.cancelled;
        seen.too_late += report.too_late;
        tocsin_wheel_advance(wheel, now_ms(), 0, save, &seen);
        if (last_look && tocsin_wheel_count(wheel) == 0)
            return;
        uint64_t until = 0;
        bool limited = tocsin_wheel_wake(wheel, &until);
        if (tocsin_inbox_sleeps(inbox))
            bell.sleep(limited, until);
    }
}

// How often a writer was held up is chance; this much is not.
bool is_right(const journal &seen)
{
    size_t saves = 0;
    for (unsigned document = 0; document < writers; document++) {
        saves += seen.saves[document];
        if (seen.saved_change[document] != changes)
            return false; // the last change was lost
    }
    return seen.armed == size_t{writers} * changes && seen.armed == saves + seen.cancelled &&
           seen.cancelled + seen.too_late == size_t{writers} * (changes - 1);
}

} // namespace

int main()
{
    tocsin_wheel_config wheel_config = {};
    wheel_config.now = now_ms();
    tocsin_why why = {};
    tocsin_wheel *wheel = nullptr;
    if (tocsin_wheel_create(&wheel_config, &wheel, &why) != TOCSIN_OK) {
        std::fprintf(stderr, "debounce: %s\n", why.text);
        return 1;
    }
    bell bell;
    tocsin_inbox_config inbox_config = {};
    inbox_config.wake = bell::ring;
    inbox_config.wake_arg = &bell;
    tocsin_inbox *inbox = nullptr;
    if (tocsin_inbox_create(wheel, &inbox_config, &inbox, &why) != TOCSIN_OK) {
        std::fprintf(stderr, "debounce: %s\n", why.text);
        tocsin_wheel_destroy(wheel);
        return 1;
    }

    journal seen;
    std::atomic<unsigned> writing{writers};
    std::vector<std::thread> threads;
    for (unsigned document = 0; document < writers; document++)
        threads.emplace_back([&, document] {
            write_document(inbox, document);
            writing--;
            bell::ring(&bell);
        });
    own(wheel, inbox, bell, writing, seen);
    for (auto &thread : threads)
        thread.join();
    tocsin_inbox_destroy(inbox);
    tocsin_wheel_destroy(wheel);

    std::fprintf(stderr, "%zu timers armed, %zu cancelled, the rest came out\n", seen.armed,
                 seen.cancelled);
    if (!is_right(seen)) {
        std::puts("wrong: a change was lost, or a cancelled timer came out");
        return 1;
    }
    std::printf("%u documents saved, each after its last change\n", writers);
    return 0;
}
