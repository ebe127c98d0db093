/* SPDX-License-Identifier: MIT */
#include "store/sqlite_place.h"

#include <stdio.h>
#include <string.h>

#include "schedule/reason.h"

enum {
    PAGE_BYTES = SQLITE_PAGE_BYTES,
    PAGES_AT = 28, /* how many pages, in the file's head */
    FILE_HEAD_BYTES = 100,
    INNER_HEAD_BYTES = 12,
    LEAF_HEAD_BYTES = 8,
    INNER_KIND = 5,
    LEAF_KIND = 13,
    DEPTH_MAX = 20, /* as SQLite has it */
    TOLD_MAX = 8,
    LOCAL_MAX = PAGE_BYTES - 35, /* bytes of a row in its leaf, when they are all of it */
    LOCAL_MIN = (PAGE_BYTES - 12) * 32 / 255 - 23,
};

struct tree {
    sqlite3_file *file;
    uint64_t page_count;
    uint64_t pages_left; /* that may still be read */
    uint64_t row;
    uint32_t last; /* page that was asked for; at first the one with the tables' names */
    bool by_order; /* the numbers in inner pages are believed */
};

struct place {
    uint32_t page;
    size_t at; /* in it */
    uint64_t size;
    uint32_t overflow; /* 0: none */
};

struct node {
    unsigned char bytes[PAGE_BYTES];
    size_t first; /* where its head stands */
    size_t cells_at;
    size_t cells;
    bool leaf;
};

static uint32_t read_32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* SQLite's numbers: seven bits a byte, eight in the ninth. False: it leaves the page. */
static bool read_number(const unsigned char *page, size_t *at, uint64_t *ret_number)
{
    uint64_t number = 0;
    for (int i = 0; i < 9; i++) {
        if (*at >= PAGE_BYTES)
            return false;
        unsigned char byte = page[(*at)++];
        if (i == 8) {
            number = number << 8 | byte;
            break;
        }
        number = number << 7 | (byte & 0x7fu);
        if (byte < 0x80)
            break;
    }
    *ret_number = number;
    return true;
}

static bool read_page(struct tree *tree, uint32_t page, unsigned char ret_bytes[PAGE_BYTES])
{
    if (page == 0 || page > tree->page_count || tree->pages_left == 0)
        return false;
    tree->pages_left--;
    return tree->file->pMethods->xRead(tree->file, ret_bytes, PAGE_BYTES,
                                       (sqlite3_int64)(page - 1) * PAGE_BYTES) == SQLITE_OK;
}

static bool read_node(struct tree *tree, uint32_t page, struct node *ret_node)
{
    if (page > 0 && page <= tree->page_count)
        tree->last = page; /* else what says so is wrong */
    if (!read_page(tree, page, ret_node->bytes))
        return false;
    const unsigned char *head = ret_node->bytes + (page == 1 ? FILE_HEAD_BYTES : 0);
    if (head[0] != INNER_KIND && head[0] != LEAF_KIND)
        return false;
    ret_node->leaf = head[0] == LEAF_KIND;
    ret_node->first = (size_t)(head - ret_node->bytes);
    ret_node->cells_at =
        ret_node->first + (ret_node->leaf ? (size_t)LEAF_HEAD_BYTES : (size_t)INNER_HEAD_BYTES);
    ret_node->cells = (size_t)head[3] << 8 | head[4];
    return ret_node->cells_at + 2 * ret_node->cells <= PAGE_BYTES;
}

static size_t cell_at(const struct node *node, size_t i)
{
    const unsigned char *at = node->bytes + node->cells_at + 2 * i;
    return (size_t)at[0] << 8 | at[1];
}

/* How much of a row stays in its leaf, as SQLite cuts it. */
static uint64_t local_bytes(uint64_t size)
{
    if (size <= LOCAL_MAX)
        return size;
    uint64_t kept = LOCAL_MIN + (size - LOCAL_MIN) % (PAGE_BYTES - 4);
    return kept <= LOCAL_MAX ? kept : LOCAL_MIN;
}

static bool find_in_leaf(const struct tree *tree, const struct node *node, uint32_t page,
                         struct place *ret_place)
{
    for (size_t i = 0; i < node->cells; i++) {
        size_t start = cell_at(node, i);
        size_t at = start;
        uint64_t size;
        uint64_t row;
        if (!read_number(node->bytes, &at, &size) || !read_number(node->bytes, &at, &row) ||
            row != tree->row)
            continue;
        *ret_place = (struct place){.page = page, .at = start, .size = size};
        uint64_t local = local_bytes(size);
        if (local < size && at + local + 4 <= PAGE_BYTES)
            ret_place->overflow = read_32(node->bytes + at + local);
        return true;
    }
    return false;
}

/* The only child that can have it, or in turn each. */
static bool find_below(struct tree *tree, uint32_t page, int depth, struct place *ret_place)
{
    struct node node;
    if (depth == DEPTH_MAX || !read_node(tree, page, &node))
        return false;
    if (node.leaf)
        return find_in_leaf(tree, &node, page, ret_place);
    for (size_t i = 0; i < node.cells; i++) {
        size_t at = cell_at(&node, i);
        uint64_t highest;
        if (at + 4 > PAGE_BYTES)
            continue;
        uint32_t child = read_32(node.bytes + at);
        at += 4;
        if (!read_number(node.bytes, &at, &highest))
            continue;
        if (tree->by_order && (int64_t)highest < (int64_t)tree->row)
            continue;
        if (find_below(tree, child, depth + 1, ret_place))
            return true;
        if (tree->by_order)
            return false;
    }
    return find_below(tree, read_32(node.bytes + node.first + 8), depth + 1, ret_place);
}

/* NULL: there is none. */
static sqlite3_file *file_of(const struct sqlite_db *db)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_FILE_POINTER, (void *)&file) !=
            SQLITE_OK ||
        file == NULL || file->pMethods == NULL)
        return NULL;
    return file;
}

static bool open_tree(const struct sqlite_db *db, uint64_t row, struct tree *ret_tree)
{
    sqlite3_int64 bytes = 0;
    sqlite3_file *file = file_of(db);
    if (file == NULL || file->pMethods->xFileSize(file, &bytes) != SQLITE_OK)
        return false;
    *ret_tree = (struct tree){
        .file = file, .page_count = (uint64_t)bytes / PAGE_BYTES, .row = row, .last = 1};
    return true;
}

static uint32_t root_of(const struct sqlite_db *db, const char *table)
{
    sqlite3_stmt *find = NULL;
    uint32_t root = 0;
    if (sqlite3_prepare_v2(db->handle, "SELECT rootpage FROM sqlite_master WHERE name=?1", -1,
                           &find, NULL) != SQLITE_OK)
        return 0;
    (void)sqlite3_bind_text(find, 1, table, -1, SQLITE_STATIC);
    if (sqlite3_step(find) == SQLITE_ROW)
        root = (uint32_t)sqlite3_column_int64(find, 0);
    (void)sqlite3_finalize(find);
    return root;
}

static bool find_row(struct tree *tree, uint32_t root, struct place *ret_place)
{
    for (int by_order = 1; by_order >= 0; by_order--) {
        tree->by_order = by_order == 1;
        tree->pages_left = tree->page_count;
        if (find_below(tree, root, 0, ret_place))
            return true;
    }
    return false;
}

void sqlite_place_row(const struct sqlite_db *db, const char *table, uint64_t row,
                      char ret_text[SQLITE_PLACE_BYTES])
{
    struct tree tree;
    struct place place;
    unsigned char page[PAGE_BYTES];
    ret_text[0] = '\0';
    uint32_t root = root_of(db, table);
    if (root == 0 || !open_tree(db, row, &tree) || !find_row(&tree, root, &place))
        return;
    unsigned long long byte = (uint64_t)(place.page - 1) * PAGE_BYTES + place.at;
    size_t used = (size_t)snprintf(ret_text, SQLITE_PLACE_BYTES, " at byte %llu (page%s %u", byte,
                                   place.overflow != 0 ? "s" : "", place.page);
    uint32_t next = place.overflow;
    tree.pages_left = TOLD_MAX - 1;
    while (used + 16 < SQLITE_PLACE_BYTES && read_page(&tree, next, page)) {
        used += (size_t)snprintf(ret_text + used, SQLITE_PLACE_BYTES - used, ", %u", next);
        next = read_32(page);
    }
    (void)snprintf(ret_text + used, SQLITE_PLACE_BYTES - used, "%s)", next != 0 ? " ..." : "");
}

void sqlite_place_page(const struct sqlite_db *db, const char *table, uint64_t row,
                       char ret_text[SQLITE_PLACE_BYTES])
{
    struct tree tree;
    struct place place;
    ret_text[0] = '\0';
    uint32_t root = root_of(db, table);
    if (!open_tree(db, row, &tree))
        return;
    tree.by_order = true;
    tree.pages_left = tree.page_count;
    (void)find_below(&tree, root, 0, &place);
    (void)snprintf(ret_text, SQLITE_PLACE_BYTES, " at byte %llu (page %u)",
                   (unsigned long long)(tree.last - 1) * PAGE_BYTES, tree.last);
}

void sqlite_place_table(const struct sqlite_db *db, const char *table,
                        char ret_text[SQLITE_PLACE_BYTES])
{
    uint32_t root = root_of(db, table);
    ret_text[0] = '\0';
    if (root != 0)
        (void)snprintf(ret_text, SQLITE_PLACE_BYTES, " at byte %llu (page %u)",
                       (unsigned long long)(root - 1) * PAGE_BYTES, root);
}

bool sqlite_place_end(const struct sqlite_db *db, struct sqlite_extent *ret_extent)
{
    unsigned char pages[4];
    sqlite3_file *file = file_of(db);
    sqlite3_int64 bytes = 0;
    if (file == NULL || file->pMethods->xFileSize(file, &bytes) != SQLITE_OK ||
        file->pMethods->xRead(file, pages, sizeof pages, PAGES_AT) != SQLITE_OK)
        return false;
    *ret_extent = (struct sqlite_extent){(uint64_t)bytes, (uint64_t)read_32(pages) * PAGE_BYTES};
    return true;
}

/* 0: all can be read; else the number behind the last that could. */
static uint64_t first_unreadable(const struct sqlite_db *db, const char *table)
{
    char sql[60];
    sqlite3_stmt *rows = NULL;
    uint64_t next = 1;
    (void)snprintf(sql, sizeof sql, "SELECT rowid,* FROM %s ORDER BY rowid", table);
    int code = sqlite3_prepare_v2(db->handle, sql, -1, &rows, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(rows)) == SQLITE_ROW) {
        next = (uint64_t)sqlite3_column_int64(rows, 0) + 1;
        code = SQLITE_OK;
    }
    (void)sqlite3_finalize(rows);
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_TOOBIG ? next : 0;
}

void sqlite_place_unreadable(const struct sqlite_db *db, char ret_text[SQLITE_PLACE_BYTES])
{
    static const char *const tables[] = {"meta", "dead", "record", "event"};
    ret_text[0] = '\0';
    for (size_t i = 0; i < sizeof tables / sizeof tables[0] && ret_text[0] == '\0'; i++) {
        uint64_t row = first_unreadable(db, tables[i]);
        if (row != 0)
            sqlite_place_page(db, tables[i], row, ret_text);
    }
}

enum tocsin_status sqlite_damaged_row(const struct sqlite_db *db, const char *table, uint64_t row,
                                      struct tocsin_why *ret_why)
{
    char where[SQLITE_PLACE_BYTES];
    sqlite_place_row(db, table, row, where);
    if (where[0] == '\0')
        sqlite_place_page(db, table, row, where);
    return reason_say(
        ret_why, TOCSIN_DAMAGED,
        "%s is damaged%s: table %s, row %llu. Restore a backup; 'tocsin verify' shows "
        "the extent",
        db->path, where, table, (unsigned long long)row);
}
