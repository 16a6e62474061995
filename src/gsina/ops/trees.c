/* Sums over the trees of a forest, in which torch would take every row one step down all trees at a
 * time, as many steps as the deepest has.
 *
 * Optional, as `kernels.c` is, whose version counts for this file too. `methods/trees.py` is the only
 * caller. Sums are made in the order of the trees, so a row has the same alone and in any batch.
 */

#include <stdint.h>
#include <string.h>

/* Rows that go down a tree while it is at hand. */
#define ROWS 16

/* For every row and output, the sum of what the leaves say that the row comes to.
 *
 * x          features of the rows              [rows, width]
 * root       first node of every tree          [trees]
 * output     the output that a tree is about   [trees]
 * feature    what a node looks at              [nodes]
 * right      steps to the child on the right, 0 for a leaf; that on the left is the next node
 * number     up to which value a row goes left, or what a leaf says
 * sum        the result                        [rows, outputs]
 *
 * Returns 0, or -1 if a node, a feature or an output is not there: torch says which. */
int64_t gsina_forest_sum(int64_t rows, int64_t width, int64_t trees, int64_t nodes, int64_t outputs,
                         int64_t depth, const float *restrict x, const int32_t *restrict root,
                         const int16_t *restrict output, const int16_t *restrict feature,
                         const int32_t *restrict right, const float *restrict number,
                         double *restrict sum) {
    for (int64_t i = 0; i < nodes; i++)
        if (feature[i] < 0 || feature[i] >= width || right[i] < 0 || right[i] >= nodes - i)
            return -1;
    for (int64_t t = 0; t < trees; t++)
        if (root[t] < 0 || root[t] >= nodes || output[t] < 0 || output[t] >= outputs)
            return -1;
    memset(sum, 0, sizeof(double) * (size_t)(rows * outputs));
    for (int64_t first = 0; first < rows; first += ROWS) {
        int64_t end = first + ROWS < rows ? first + ROWS : rows;
        for (int64_t t = 0; t < trees; t++)
            for (int64_t row = first; row < end; row++) {
                const float *values = x + row * width;
                int64_t at = root[t];
                for (int64_t step = 0; step < depth && right[at]; step++)
                    at += values[feature[at]] <= number[at] ? 1 : right[at];
                sum[row * outputs + output[t]] += number[at];
            }
    }
    return 0;
}
