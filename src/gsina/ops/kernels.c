/* Soft top-r attention of many small graphs, without a call into torch for every step.
 *
 * Optional: where this file cannot be compiled, the same numbers come from torch, as they do on
 * other devices. `compiled.py` is the only caller.
 *
 * Groups lie end to end: `index` is the group of every element, ascending, or NULL for one group, and
 * group g holds the elements bounds[g] to bounds[g + 1]. Sums over a group are always made in the
 * same order, so a graph has the same weights alone and in any batch.
 *
 * Numbers with a `step` are one per group or node (step 1), or one for all (step 0).
 */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "targets.h"

/* To be raised here and in compiled.py with every change, also of the other C files: a library that
 * was built before is then not used. */
#define VERSION 8

#define LANES 4
#define BLOCK 64
#define MOST_STEPS 128
#define ROUNDING 1e-13

int64_t gsina_version(void) { return VERSION; }

/* sigmoid(x + shift) and its complement sigmoid(-x - shift), neither of them as a difference, of up
 * to BLOCK numbers. The exponential is written out, because that of the C library is made one by
 * one: exp(z) = 2^k exp(r) with z = k log 2 + r, the integer k in the low bits of a sum, and a
 * polynomial that is right to the last digit or two. */
INLINE void sigmoids(const double *x, int64_t count, double shift, double *weight,
                     double *complement) {
    const double round = 6755399441055744.0; /* 1.5 * 2^52 */
    double sum[BLOCK], power[BLOCK];
    int64_t low[BLOCK], bits[BLOCK];
    for (int64_t i = 0; i < count; i++) {
        double z = -(x[i] + shift);
        z = z < 700.0 ? z : 700.0;
        z = z > -700.0 ? z : -700.0;
        sum[i] = z * 1.4426950408889634 + round;
        double k = sum[i] - round;
        double r = (z - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
        double p = 1.0 / 479001600;
        p = p * r + 1.0 / 39916800;
        p = p * r + 1.0 / 3628800;
        p = p * r + 1.0 / 362880;
        p = p * r + 1.0 / 40320;
        p = p * r + 1.0 / 5040;
        p = p * r + 1.0 / 720;
        p = p * r + 1.0 / 120;
        p = p * r + 1.0 / 24;
        p = p * r + 1.0 / 6;
        p = p * r + 0.5;
        p = p * r + 1.0;
        power[i] = p * r + 1.0;
    }
    memcpy(low, sum, sizeof low);
    memcpy(bits, power, sizeof bits);
    for (int64_t i = 0; i < count; i++)
        bits[i] += (int64_t)((uint64_t)low[i] << 52);
    memcpy(power, bits, sizeof power);
    for (int64_t i = 0; i < count; i++) {
        weight[i] = 1.0 / (1.0 + power[i]);
        complement[i] = power[i] * weight[i];
    }
}

/* Sums over a group of the weights sigmoid(x + dual) and of their slopes. */
INLINE void evaluate(const double *x, int64_t n, double dual, double *sum, double *slope) {
    double weight[BLOCK], complement[BLOCK];
    double total[LANES] = {0}, steep[LANES] = {0};
    for (int64_t start = 0; start < n; start += BLOCK) {
        int64_t count = n - start < BLOCK ? n - start : BLOCK, i;
        sigmoids(x + start, count, dual, weight, complement);
        for (i = 0; i + LANES <= count; i += LANES)
            for (int k = 0; k < LANES; k++) {
                total[k] += weight[i + k];
                steep[k] += weight[i + k] * complement[i + k];
            }
        for (; i < count; i++) {
            total[0] += weight[i];
            steep[0] += weight[i] * complement[i];
        }
    }
    *sum = (total[0] + total[1]) + (total[2] + total[3]);
    *slope = (steep[0] + steep[1]) + (steep[2] + steep[3]);
}

/* The dual of one group: Newton's method for logit(mean) inside a bracket, which is halved where a
 * step leaves it or does not help. Returns the number of evaluations; 0 if it was not found, or if
 * it is so large that x + dual loses the digits that `near` asks for. */
INLINE int64_t solve(const double *x, int64_t n, double ratio, double near, double *dual) {
    double least = x[0], most = x[0], mean = 0, square = 0;
    for (int64_t i = 0; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
        mean += x[i];
        square += x[i] * x[i];
    }
    mean /= (double)n;
    double target = log(ratio) - log1p(-ratio);
    double low = target - most, high = target - least;
    double margin = 1e-6 * (1 + fabs(low) + fabs(high));
    low -= margin;
    high += margin;
    /* Of normal x the mean weight is nearly sigmoid((mean + dual) / sqrt(1 + pi / 8 variance)). */
    double spread = square / (double)n - mean * mean, last = INFINITY;
    double at = target * sqrt(1 + 0.39269908169872414 * (spread > 0 ? spread : 0)) - mean;
    at = at >= low && at <= high ? at : target - mean;
    for (int64_t step = 1; step <= MOST_STEPS; step++) {
        double sum, slope;
        evaluate(x, n, at, &sum, &slope);
        double share = sum / (double)n;
        double gap = target - (log(sum) - log((double)n - sum));
        double length = gap * share * (1 - share) * (double)n / slope;
        double next = at + length;
        if (gap > 0)
            low = at;
        else
            high = at;
        int inside = next >= low && next <= high;
        int flat = fabs(share - ratio) <= ROUNDING;
        if (flat || (inside && fabs(length) <= near)) {
            *dual = inside && fabs(length) <= 1 ? next : at;
            return fabs(*dual) * DBL_EPSILON <= near * near ? step : 0;
        }
        at = inside && fabs(gap) <= 0.5 * last ? next : (low + high) / 2;
        last = fabs(gap);
    }
    return 0;
}

/* Finds where the groups begin and end [G + 1]; 0 if the index is not ascending within them. */
static int find_bounds(int64_t size, int64_t groups, const int64_t *index, int64_t *bounds) {
    int64_t g = 0;
    bounds[0] = 0;
    for (int64_t i = 0; index && i < size; i++) {
        if (index[i] < g || index[i] >= groups)
            return 0;
        while (g < index[i])
            bounds[++g] = i;
    }
    while (g < groups)
        bounds[++g] = size;
    return groups > 0 || size == 0;
}

/* The dual of every group; 0 for an empty one and where the ratio is 1.
 *
 * bounds     room for the bounds of the groups                  [G + 1]
 * dual       the result                                         [G]
 *
 * Returns the most evaluations of a group, or -1 if one was not found. */
WIDE int64_t gsina_solve(int64_t size, int64_t groups, const int64_t *index, const double *x,
                         const double *ratio, double near, int64_t *bounds, double *dual) {
    int64_t most = 0;
    if (!find_bounds(size, groups, index, bounds))
        return -1;
    for (int64_t g = 0; g < groups; g++) {
        int64_t n = bounds[g + 1] - bounds[g];
        dual[g] = 0;
        if (n == 0 || ratio[g] >= 1)
            continue;
        int64_t used = solve(x + bounds[g], n, ratio[g], near, dual + g);
        if (used == 0)
            return -1;
        most = used > most ? used : most;
    }
    return most;
}

/* Whether `reverse` pairs edges. */
static int is_pairing(int64_t edges, const int64_t *reverse) {
    for (int64_t e = 0; e < edges; e++)
        if (reverse[e] < 0 || reverse[e] >= edges || reverse[reverse[e]] != e)
            return 0;
    return 1;
}

/* Attention of edges: scores, made equal for both directions, standardised, less the noise, times
 * `factor`, through the soft top-r.
 *
 * reverse    opposite of every edge, or NULL; both directions have the noise of the first
 * noise      what is subtracted from the standardised scores `sigma` times, or NULL
 * ratio      shares in (0, 1]                                   [G], or one
 * bounds     where the groups begin and end                     [G + 1]
 * standard   standardised scores                                [E]
 * weight     weights                                            [E]
 * complement 1 - weight                                         [E]
 * scale      one over the standard deviation of every group     [G]
 * x          room to work                                       [E]
 *
 * Returns 0, or -1 if a group was not solved or an index is wrong: torch says how. */
WIDE int64_t gsina_attend(int64_t edges, int64_t groups, const int64_t *index,
                          const float *scores, const int64_t *reverse, const float *noise,
                          double sigma, const double *ratio, int64_t step, double factor,
                          double eps, double near, int64_t *bounds, float *standard,
                          float *weight, float *complement, float *scale, double *x) {
    if (!find_bounds(edges, groups, index, bounds) || (reverse && !is_pairing(edges, reverse)))
        return -1;
    for (int64_t g = 0; g < groups; g++) {
        int64_t begin = bounds[g], end = bounds[g + 1], n = end - begin;
        double mean = 0, square = 0, share = ratio[g * step];
        for (int64_t e = begin; e < end; e++) {
            x[e] = reverse ? ((double)scores[e] + scores[reverse[e]]) / 2 : scores[e];
            mean += x[e];
        }
        mean /= n > 0 ? (double)n : 1;
        for (int64_t e = begin; e < end; e++) {
            x[e] -= mean;
            square += x[e] * x[e];
        }
        double unit = 1 / sqrt(square / (n > 2 ? (double)n - 1 : 1) + eps);
        scale[g] = (float)unit;
        for (int64_t e = begin; e < end; e++) {
            standard[e] = (float)(x[e] * unit);
            x[e] = standard[e];
        }
        if (noise)
            for (int64_t e = begin; e < end; e++)
                x[e] -= sigma * noise[reverse && reverse[e] < e ? reverse[e] : e];
        for (int64_t e = begin; e < end; e++)
            x[e] *= factor;
        double dual = 0;
        if (n > 0 && share < 1 && !solve(x + begin, n, share, near, &dual))
            return -1;
        for (int64_t start = begin; start < end; start += BLOCK) {
            int64_t count = end - start < BLOCK ? end - start : BLOCK;
            double of[BLOCK], rest[BLOCK];
            sigmoids(x + start, count, dual, of, rest);
            for (int64_t i = 0; i < count; i++) { /* at ratio 1 every weight is exactly 1 */
                weight[start + i] = share < 1 ? (float)of[i] : 1;
                complement[start + i] = share < 1 ? (float)rest[i] : 0;
            }
        }
    }
    return 0;
}

/* Attention of nodes: the largest weight of the edges at a node, its `isolated` where there are none,
 * and how many ends of edges have that weight. Returns 0, or -1 if an end is no node. */
int64_t gsina_node_max(int64_t edges, int64_t nodes, const int64_t *edge_index,
                       const float *weight, const double *isolated, int64_t step, float *node,
                       float *ties) {
    const int64_t *source = edge_index, *target = edge_index + edges;
    for (int64_t i = 0; i < 2 * edges; i++)
        if (edge_index[i] < 0 || edge_index[i] >= nodes)
            return -1;
    for (int64_t v = 0; v < nodes; v++) {
        node[v] = -1;
        ties[v] = 0;
    }
    for (int64_t e = 0; e < edges; e++) {
        float w = weight[e], *s = node + source[e], *t = node + target[e];
        *s = w > *s ? w : *s;
        *t = w > *t ? w : *t;
    }
    for (int64_t e = 0; e < edges; e++) {
        ties[source[e]] += weight[e] == node[source[e]];
        ties[target[e]] += weight[e] == node[target[e]];
    }
    for (int64_t v = 0; v < nodes; v++)
        if (node[v] < 0)
            node[v] = (float)isolated[v * step];
    return 0;
}

/* Gradient of both by the scores. With v = weight * complement and sums over a group, that of the
 * soft top-r is v (dw - <v, dw> / <v>), whose sum is 0; so one term of that of the standardised
 * scores is none.
 *
 * of_edge, of_node   gradients of the outputs, or NULL
 * work               room to work            [E]
 * of_scores          the result              [E] */
void gsina_attend_backward(int64_t groups, const int64_t *bounds, const int64_t *edge_index,
                           const int64_t *reverse, const float *standard, const float *weight,
                           const float *complement, const float *scale, const float *node,
                           const float *ties, const float *of_edge, const float *of_node,
                           double factor, float *work, float *of_scores) {
    int64_t edges = bounds[groups];
    const int64_t *source = edge_index, *target = edge_index + edges;
    float *result = reverse ? work : of_scores;
    for (int64_t e = 0; e < edges; e++) {
        float sum = of_edge ? of_edge[e] : 0;
        if (of_node) { /* ties share it */
            int64_t s = source[e], t = target[e];
            sum += weight[e] == node[s] ? of_node[s] / ties[s] : 0;
            sum += weight[e] == node[t] ? of_node[t] / ties[t] : 0;
        }
        result[e] = sum;
    }
    for (int64_t g = 0; g < groups; g++) {
        int64_t begin = bounds[g], end = bounds[g + 1], n = end - begin;
        double total = 0, pull = 0, along = 0;
        for (int64_t e = begin; e < end; e++) {
            double v = (double)weight[e] * complement[e];
            total += v;
            pull += v * result[e];
        }
        pull = total > 0 ? pull / total : 0;
        for (int64_t e = begin; e < end; e++) {
            double d = (double)weight[e] * complement[e] * (result[e] - pull);
            result[e] = (float)d;
            along += d * standard[e];
        }
        along /= n > 2 ? (double)n - 1 : 1;
        double unit = factor * scale[g];
        for (int64_t e = begin; e < end; e++)
            result[e] = (float)((result[e] - standard[e] * along) * unit);
    }
    if (reverse)
        for (int64_t e = 0; e < edges; e++)
            of_scores[e] = (result[e] + result[reverse[e]]) / 2;
}
