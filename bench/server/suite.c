/* SPDX-License-Identifier: MIT */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "peer.h"

bool suite_option(struct suite *suite, struct args *args)
{
    if (args_value(args, "--only")) {
        unsigned i = 0;
        while (suite->parts[i].name != NULL && strcmp(args->value, suite->parts[i].name) != 0)
            i++;
        if (suite->parts[i].name == NULL)
            args_refuse(args, "--only: there is no such part");
        suite->wanted |= 1u << i;
        return true;
    }
    if (args_value(args, "--program")) {
        tocsin_program(args->value);
        return true;
    }
    return args_text(args, "--json", &suite->json_path) ||
           (suite->plot != NULL && args_text(args, "--plot", &suite->plot_path));
}

void suite_run(const struct suite *suite, const struct options *options, struct results *results)
{
    results->from_ns = bench_now_ns();
    bench_machine_read(&results->machine);
    (void)getloadavg(&results->load_before, 1);
    scratch_open();
    supervise();
    for (unsigned i = 0; suite->parts[i].name != NULL; i++) {
        if (suite->wanted == 0 || (suite->wanted & (1u << i)) != 0)
            suite->parts[i].run(results, options);
    }
    bench_progress_end();
}

void suite_report(const struct suite *suite, const struct results *results)
{
    report_print(results, stdout);
    report_write(results, suite->json_path);
    printf("Written to %s", suite->json_path);
    if (suite->plot_path != NULL) {
        suite->plot(results, suite->plot_path);
        printf(" and %s", suite->plot_path);
    }
    printf(", in %.0f s.\n", (double)(bench_now_ns() - results->from_ns) / 1e9);
}
