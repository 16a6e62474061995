/* Sums of weighted messages and scores of edges of small graphs, row by row: what torch makes of many
 * passes over one number per edge and channel is here one pass that keeps none of them.
 *
 * Optional, as `kernels.c` is, whose version counts for this file too. `neighbour_sum.py`
 * and `pair_scores.py` are the only callers. Sums at a node are made in the order of its edges.
 */

#include <stdint.h>
#include <string.h>

#include "targets.h"

#define LANES 16

static int are_nodes(int64_t edges, int64_t nodes, const int64_t *edge_index) {
    for (int64_t i = 0; i < 2 * edges; i++)
        if (edge_index[i] < 0 || edge_index[i] >= nodes)
            return 0;
    return 1;
}

INLINE float add_lanes(const float *lanes) {
    float sum = 0;
    for (int k = 0; k < LANES; k++)
        sum += lanes[k];
    return sum;
}

/* At every node, the sum over its incoming edges of weight times message, which is the state of the
 * source, or relu(state + edge) times the source's scale.
 *
 * states     [N, C]
 * weight     [E]
 * edge       [E, C], or NULL
 * scale      [N], or NULL
 * sum        the result     [N, C]
 *
 * Returns 0, or -1 if an end is no node: torch says how. */
WIDEST int64_t gsina_message_sum(int64_t edges, int64_t nodes, int64_t channels,
                                 const int64_t *edge_index, const float *restrict states,
                                 const float *restrict weight, const float *restrict edge,
                                 const float *restrict scale, float *restrict sum) {
    if (!are_nodes(edges, nodes, edge_index))
        return -1;
    memset(sum, 0, sizeof(float) * (size_t)(nodes * channels));
    for (int64_t e = 0; e < edges; e++) {
        const float *x = states + edge_index[e] * channels, *y = edge ? edge + e * channels : x;
        float *to = sum + edge_index[edges + e] * channels, w = weight[e];
        if (!edge) {
            for (int64_t k = 0; k < channels; k++)
                to[k] += w * x[k];
            continue;
        }
        w *= scale ? scale[edge_index[e]] : 1;
        for (int64_t k = 0; k < channels; k++) {
            float message = x[k] + y[k];
            to[k] += w * (message < 0 ? 0 : message); /* what is no number stays so */
        }
    }
    return 0;
}

/* Its gradients by states, weights and edges, from that by the sum; of_edge is NULL without edges. */
WIDEST void gsina_message_sum_backward(int64_t edges, int64_t nodes, int64_t channels,
                                       const int64_t *edge_index, const float *restrict states,
                                       const float *restrict weight, const float *restrict edge,
                                       const float *restrict scale, const float *restrict of_sum,
                                       float *restrict of_states, float *restrict of_weight,
                                       float *restrict of_edge) {
    memset(of_states, 0, sizeof(float) * (size_t)(nodes * channels));
    for (int64_t e = 0; e < edges; e++) {
        const float *x = states + edge_index[e] * channels, *y = edge ? edge + e * channels : x;
        const float *grad = of_sum + edge_index[edges + e] * channels;
        float *to = of_states + edge_index[e] * channels;
        float *also = edge ? of_edge + e * channels : to;
        float w = weight[e], factor = scale && edge ? scale[edge_index[e]] : 1;
        float lanes[LANES] = {0};
        int64_t k = 0;
        if (!edge) {
            for (; k + LANES <= channels; k += LANES)
                for (int i = 0; i < LANES; i++) {
                    lanes[i] += grad[k + i] * x[k + i];
                    to[k + i] += w * grad[k + i];
                }
            for (; k < channels; k++) {
                lanes[0] += grad[k] * x[k];
                to[k] += w * grad[k];
            }
        } else {
            w *= factor;
            for (; k + LANES <= channels; k += LANES)
                for (int i = 0; i < LANES; i++) {
                    float message = x[k + i] + y[k + i];
                    float active = message > 0 ? grad[k + i] : 0;
                    lanes[i] += active * message;
                    to[k + i] += w * active;
                    also[k + i] = w * active;
                }
            for (; k < channels; k++) {
                float message = x[k] + y[k], active = message > 0 ? grad[k] : 0;
                lanes[0] += active * message;
                to[k] += w * active;
                also[k] = w * active;
            }
        }
        of_weight[e] = factor * add_lanes(lanes);
    }
}

/* Scores of edges by a hidden layer: sum_k weight_k relu(source_k + target_k).
 *
 * table      what a node adds as a source, and as a target behind it     [N, 2 C]
 * scores     the result                                                  [E]
 *
 * Returns 0, or -1 if an end is no node. */
WIDEST int64_t gsina_pair_scores(int64_t edges, int64_t nodes, int64_t units,
                                 const int64_t *edge_index, const float *restrict table,
                                 const float *restrict weight, float *restrict scores) {
    if (!are_nodes(edges, nodes, edge_index))
        return -1;
    for (int64_t e = 0; e < edges; e++) {
        const float *s = table + edge_index[e] * 2 * units;
        const float *t = table + edge_index[edges + e] * 2 * units + units;
        float lanes[LANES] = {0};
        int64_t k = 0;
        for (; k + LANES <= units; k += LANES)
            for (int i = 0; i < LANES; i++) {
                float hidden = s[k + i] + t[k + i];
                lanes[i] += (hidden < 0 ? 0 : hidden) * weight[k + i];
            }
        for (; k < units; k++) {
            float hidden = s[k] + t[k];
            lanes[0] += (hidden < 0 ? 0 : hidden) * weight[k];
        }
        scores[e] = add_lanes(lanes);
    }
    return 0;
}

/* Its gradients by the table, by the weights, and by a bias that all targets share.
 *
 * of_table   [N, 2 C]
 * of_weight  [C]
 * of_bias    [C] */
WIDEST void gsina_pair_scores_backward(int64_t edges, int64_t nodes, int64_t units,
                                       const int64_t *edge_index, const float *restrict table,
                                       const float *restrict weight, const float *restrict grad,
                                       float *of_table, float *restrict of_weight,
                                       float *restrict of_bias) {
    memset(of_table, 0, sizeof(float) * (size_t)(2 * nodes * units));
    memset(of_weight, 0, sizeof(float) * (size_t)units);
    memset(of_bias, 0, sizeof(float) * (size_t)units);
    for (int64_t e = 0; e < edges; e++) {
        int64_t source = edge_index[e] * 2 * units, target = (edge_index[edges + e] * 2 + 1) * units;
        const float *s = table + source, *t = table + target;
        float *restrict to_source = of_table + source, *restrict to_target = of_table + target;
        float g = grad[e];
        for (int64_t k = 0; k < units; k++) {
            float hidden = s[k] + t[k], active = hidden > 0 ? g : 0, one = active * weight[k];
            of_weight[k] += active * hidden;
            of_bias[k] += one;
            to_source[k] += one;
            to_target[k] += one;
        }
    }
}
