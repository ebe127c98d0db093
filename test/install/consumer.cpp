// SPDX-License-Identifier: MIT
// A stranger's C++ program: only what `make install` has put there.
#include <tocsin/inbox.h>
#include <tocsin/memory.h>
#include <tocsin/status.h>
#include <tocsin/wheel.h>

#include <cstdio>
#include <memory>
#include <string>

int main()
{
    tocsin_wheel *raw = nullptr;
    if (tocsin_wheel_create(nullptr, &raw, nullptr) != TOCSIN_OK)
        return 1;
    std::unique_ptr<tocsin_wheel, decltype(&tocsin_wheel_destroy)> wheel(raw, tocsin_wheel_destroy);
    std::string text = "2 timers";
    tocsin_timer one, two;
    if (tocsin_wheel_arm_after(wheel.get(), 5, tocsin_cookie(&text), &one) != TOCSIN_OK ||
        tocsin_wheel_arm(wheel.get(), 9, 0, &two) != TOCSIN_OK ||
        tocsin_wheel_count(wheel.get()) != 2)
        return 1;
    std::string *said = nullptr;
    auto keep = [](void *arg, const tocsin_due *due) {
        *static_cast<std::string **>(arg) =
            static_cast<std::string *>(tocsin_cookie_pointer(due->cookie));
    };
    if (tocsin_wheel_advance(wheel.get(), 5, 0, keep, &said) != TOCSIN_OK || said != &text)
        return 1;
    std::puts(said->c_str());
    return 0;
}
