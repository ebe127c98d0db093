/* SPDX-License-Identifier: MIT */
#include "svg.h"

#include <errno.h>
#include <string.h>

FILE *svg_begin(const char *path, const struct svg_page *page, const struct bench_machine *machine)
{
    char words[256];
    bench_make_folders(path);
    FILE *out = fopen(path, "w");
    if (out == NULL)
        bench_die("cannot write %s: %s", path, strerror(errno));
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" role=\"img\" aria-label=\"%s\">\n",
            page->width, page->height, page->width, page->height, page->label);
    fprintf(out,
            "<style>\n"
            "text{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;"
            "fill:#2b2d33}\n"
            ".title{font-size:21px;font-weight:650}\n"
            ".sub{font-size:12.5px;fill:#5d616b}\n"
            ".axis{font-size:11px;fill:#5d616b}\n"
            ".legend{font-size:13px}\n"
            ".grid{stroke:#e4e6ea;stroke-width:1}\n"
            "%s"
            "</style>\n"
            "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#ffffff\" "
            "stroke=\"#d5d8de\"/>\n",
            page->style, page->width - 1, page->height - 1);
    svg_text(out, 24, 38, "title", "start", page->title);
    svg_text(out, 24, 59, "sub", "start", page->sub);
    snprintf(words, sizeof words, "%s, %u cores, %s, commit %s", machine->cpu, machine->cores,
             machine->compiler, machine->commit);
    svg_text(out, 24, page->height - page->foot, "sub", "start", words);
    return out;
}

void svg_end(FILE *out, const char *path)
{
    fprintf(out, "</svg>\n");
    if (ferror(out) || fclose(out) != 0)
        bench_die("cannot write %s", path);
}

void svg_text(FILE *out, double x, double y, const char *class, const char *anchor,
              const char *words)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class,
            anchor);
    for (; *words != '\0'; words++) {
        if (*words == '&' || *words == '<' || *words == '>')
            fprintf(out, "&#%d;", *words);
        else
            fputc(*words, out);
    }
    fprintf(out, "</text>\n");
}
