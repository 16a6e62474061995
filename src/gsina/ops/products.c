/* Products of matrices for the scorer of edges, on processors with vectors of 16 numbers (AVX-512).
 *
 * The library that torch asks for products leaves half of such a processor idle if another company
 * made it, and then the products of the scorer cost as much as a network. Where this file knows no
 * better way, torch computes them. `compiled.py` is the only caller; the version in `kernels.c`
 * counts for this file too.
 */

#include <stdint.h>
#include <string.h>

/* A tile of the result is held in 16 registers, and a panel of `b` in the first cache. */
#define ROWS 8
#define COLUMNS 32
#define DEPTH 256

#if defined(__x86_64__) && defined(__GNUC__)

#define AVX512 __attribute__((target("avx512f")))

typedef float vector __attribute__((vector_size(64), aligned(4)));

/* Adds a [ROWS, depth] times panel [depth, COLUMNS] to `begin` [COLUMNS], or to the tile itself, or
 * to 0; only the first `rows` are stored. */
AVX512 static inline __attribute__((always_inline)) void
make_tile(int64_t depth, const float *restrict a, int64_t row, int64_t column,
          const float *restrict panel, const float *begin, int again, float *restrict tile,
          int64_t width, int64_t rows) {
    vector sum[ROWS][2], first = {0}, second = {0};
    if (begin) {
        first = *(const vector *)begin;
        second = *(const vector *)(begin + 16);
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        sum[i][0] = first;
        sum[i][1] = second;
    }
    for (int64_t k = 0; k < depth; k++) {
        const float *line = panel + k * COLUMNS;
        vector left = *(const vector *)line, right = *(const vector *)(line + 16);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
            float factor = a[i * row + k * column];
            sum[i][0] += factor * left;
            sum[i][1] += factor * right;
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        vector *left = (vector *)(tile + i * width), *right = (vector *)(tile + i * width + 16);
        *left = again ? *left + sum[i][0] : sum[i][0];
        *right = again ? *right + sum[i][1] : sum[i][1];
    }
}

AVX512 static void make_product(int64_t m, int64_t k, int64_t n, const float *a, int64_t a_row,
                                int64_t a_column, const float *b, int64_t b_row,
                                int64_t b_column, const float *begin, float *c) {
    float panel[DEPTH * COLUMNS], few[ROWS * DEPTH];
    for (int64_t start = 0; start < k; start += DEPTH) {
        int64_t depth = k - start < DEPTH ? k - start : DEPTH;
        for (int64_t j = 0; j < n; j += COLUMNS) {
            const float *of_b = b + start * b_row + j * b_column;
            for (int64_t l = 0; l < depth; l++)
                for (int64_t i = 0; i < COLUMNS; i++)
                    panel[l * COLUMNS + i] = of_b[l * b_row + i * b_column];
            for (int64_t i = 0; i < m; i += ROWS) {
                int64_t rows = m - i < ROWS ? m - i : ROWS, row = a_row, column = a_column;
                const float *from = a + i * a_row + start * a_column;
                const float *first = start == 0 && begin ? begin + j : NULL;
                float *tile = c + i * n + j;
                if (rows < ROWS) { /* the last rows, beside any numbers */
                    for (int64_t r = 0; r < ROWS; r++)
                        for (int64_t l = 0; l < depth; l++)
                            few[r * DEPTH + l] = from[(r < rows ? r : 0) * row + l * column];
                    from = few;
                    row = DEPTH;
                    column = 1;
                }
                if (column == 1)
                    make_tile(depth, from, row, 1, panel, first, start > 0, tile, n, rows);
                else
                    make_tile(depth, from, 1, column, panel, first, start > 0, tile, n, rows);
            }
        }
    }
}

#endif

/* c [m, n] = a [m, k] b [k, n] + begin [n], or without it if that is NULL. Rows and columns of a
 * and of b are so many numbers apart; c has no gaps. Returns 0, or -1 to leave it to torch. */
int64_t gsina_product(int64_t m, int64_t k, int64_t n, const float *a, int64_t a_row,
                      int64_t a_column, const float *b, int64_t b_row, int64_t b_column,
                      const float *begin, float *c) {
#if defined(__x86_64__) && defined(__GNUC__)
    int known = a_row == 1 || a_column == 1;
    if (k > 0 && n % COLUMNS == 0 && known && __builtin_cpu_supports("avx512f")) {
        make_product(m, k, n, a, a_row, a_column, b, b_row, b_column, begin, c);
        return 0;
    }
#endif
    return -1;
}
