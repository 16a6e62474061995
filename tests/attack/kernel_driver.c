/* Calls the kernels with random problems, in memory that is exactly as large as it must be.
 *
 * driver SEED ROUNDS PLANTED: with PLANTED 1 the last weight has no room, which a sanitizer must
 * notice. Ends with 1 if a result is not what it must be. */

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int64_t gsina_solve(int64_t size, int64_t groups, const int64_t *index, const double *x,
                    const double *ratio, double near, int64_t *bounds, double *dual);
int64_t gsina_attend(int64_t edges, int64_t groups, const int64_t *index, const float *scores,
                     const int64_t *reverse, const float *noise, double sigma, const double *ratio,
                     int64_t step, double factor, double eps, double near, int64_t *bounds,
                     float *standard, float *weight, float *complement, float *scale, double *x);
int64_t gsina_node_max(int64_t edges, int64_t nodes, const int64_t *edge_index,
                       const float *weight, const double *isolated, int64_t step, float *node,
                       float *ties);
void gsina_attend_backward(int64_t groups, const int64_t *bounds, const int64_t *edge_index,
                           const int64_t *reverse, const float *standard, const float *weight,
                           const float *complement, const float *scale, const float *node,
                           const float *ties, const float *of_edge, const float *of_node,
                           double factor, float *work, float *of_scores);
int64_t gsina_message_sum(int64_t edges, int64_t nodes, int64_t channels,
                          const int64_t *edge_index, const float *states, const float *weight,
                          const float *edge, const float *scale, float *sum);
void gsina_message_sum_backward(int64_t edges, int64_t nodes, int64_t channels,
                                const int64_t *edge_index, const float *states,
                                const float *weight, const float *edge, const float *scale,
                                const float *of_sum, float *of_states, float *of_weight,
                                float *of_edge);
int64_t gsina_pair_scores(int64_t edges, int64_t nodes, int64_t units, const int64_t *edge_index,
                          const float *table, const float *weight, float *scores);
void gsina_pair_scores_backward(int64_t edges, int64_t nodes, int64_t units,
                                const int64_t *edge_index, const float *table,
                                const float *weight, const float *grad, float *of_table,
                                float *of_weight, float *of_bias);
int64_t gsina_product(int64_t m, int64_t k, int64_t n, const float *a, int64_t a_row,
                      int64_t a_column, const float *b, int64_t b_row, int64_t b_column,
                      const float *begin, float *c);

static uint64_t state;

static uint64_t draw(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int64_t below(int64_t most) { return most > 0 ? (int64_t)(draw() % (uint64_t)most) : 0; }

static double share(void) { return (double)(draw() >> 11) / 9007199254740992.0; }

static float odd_score(void) {
    static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-45f};
    return below(200) ? (float)(8 * share() - 4) : odd[below(6)];
}

static void *room(int64_t count, size_t size) {
    void *found = malloc(count > 0 ? (size_t)count * size : 1);
    if (!found)
        exit(2);
    return found;
}

/* One problem; 0 if all is well. */
static int round_of(int planted) {
    int64_t pairs = below(below(3) ? 40 : 400), edges = 2 * pairs, groups = 1 + below(12);
    int64_t nodes = 1 + below(60), used = 0;
    int64_t *index = room(edges, 8), *reverse = room(edges, 8), *ends = room(2 * edges, 8);
    int64_t *bounds = room(groups + 1, 8);
    float *scores = room(edges, 4), *noise = room(edges, 4), *standard = room(edges, 4);
    float *weight = room(edges - planted, 4), *complement = room(edges, 4);
    float *scale = room(groups, 4), *work = room(edges, 4), *of_scores = room(edges, 4);
    float *node = room(nodes, 4), *ties = room(nodes, 4), *of_node = room(nodes, 4);
    double *x = room(edges, 8), *ratio = room(groups, 8), *dual = room(groups, 8);
    for (int64_t e = 0; e < edges; e++) {
        if (e % 2 == 0 && below(8) == 0 && used + 1 < groups)
            used++;
        index[e] = used;
        reverse[e] = e ^ 1;
        scores[e] = odd_score();
        noise[e] = (float)share();
        ends[e] = below(nodes);
        ends[edges + e] = below(nodes);
        x[e] = 40 * share() - 20;
    }
    for (int64_t g = 0; g < groups; g++)
        ratio[g] = below(5) ? share() * 0.998 + 0.001 : 1;
    for (int64_t v = 0; v < nodes; v++)
        of_node[v] = (float)share();
    int damaged = edges > 0 && below(4) == 0;
    if (damaged) {
        static const int64_t odd[] = {-1, INT64_MAX, INT64_MIN, 1000000};
        int64_t *where[] = {index, reverse, ends};
        where[below(3)][below(edges)] = odd[below(4)];
    }
    int64_t steps = gsina_solve(edges, groups, index, x, ratio, 3e-5, bounds, dual);
    int failed = !damaged && steps < 0;
    int64_t bad = gsina_attend(edges, groups, index, scores, below(2) ? reverse : NULL,
                               below(2) ? noise : NULL, 1, ratio, 1, 2 / (0.01 + 3 * share()), 1e-6,
                               3e-5, bounds, standard, weight, complement, scale, x);
    if (!bad && !gsina_node_max(edges, nodes, ends, weight, ratio, 0, node, ties)) {
        for (int64_t e = 0; e < edges; e++)
            failed |= !(weight[e] >= 0 && weight[e] <= 1);
        gsina_attend_backward(groups, bounds, ends, below(2) && !damaged ? reverse : NULL, standard,
                              weight, complement, scale, node, ties, noise, of_node, 2, work,
                              of_scores);
    }
    void *all[] = {index,  reverse, ends, bounds, scores, noise,   standard, weight, complement,
                   scale,  work,    of_scores,    node,   ties,    of_node,  x,      ratio, dual};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return failed;
}

static float *odd_scores(int64_t count) {
    float *found = room(count, 4);
    for (int64_t i = 0; i < count; i++)
        found[i] = odd_score();
    return found;
}

/* Messages and scores of pairs, of random graphs with an edge to no node now and then. */
static int round_of_messages(void) {
    int64_t edges = below(200), nodes = 1 + below(30), width = 1 + below(40);
    int64_t *ends = room(2 * edges, 8);
    for (int64_t i = 0; i < 2 * edges; i++)
        ends[i] = below(nodes);
    int wrong = edges > 0 && !below(4), failed = 0;
    if (wrong)
        ends[below(2 * edges)] = below(2) ? nodes : -1;
    float *states = odd_scores(nodes * width), *weight = odd_scores(edges);
    float *edge = below(2) ? odd_scores(edges * width) : NULL, *scale = odd_scores(nodes);
    float *sum = room(nodes * width, 4), *of_states = room(nodes * width, 4);
    float *of_weight = room(edges, 4), *of_edge = edge ? room(edges * width, 4) : NULL;
    failed |= !gsina_message_sum(edges, nodes, width, ends, states, weight, edge, scale, sum) == wrong;
    float *table = odd_scores(2 * nodes * width), *last = odd_scores(width);
    float *scores = room(edges, 4), *of_table = room(2 * nodes * width, 4);
    float *of_last = room(width, 4), *of_bias = room(width, 4);
    failed |= !gsina_pair_scores(edges, nodes, width, ends, table, last, scores) == wrong;
    if (!wrong) {
        gsina_message_sum_backward(edges, nodes, width, ends, states, weight, edge, scale, sum,
                                   of_states, of_weight, of_edge);
        gsina_pair_scores_backward(edges, nodes, width, ends, table, last, weight, of_table,
                                   of_last, of_bias);
    }
    void *all[] = {ends,  states, weight, edge,     scale,   sum,    of_states, of_weight,
                   of_edge, table,  last,   scores, of_table, of_last, of_bias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    return failed;
}

/* A product of random sizes, either factor turned or not, beside sums in double precision. */
static int round_of_products(void) {
    int64_t m = below(40), k = below(below(3) ? 40 : 600), n = 32 * below(4) + !below(4);
    int turned = (int)below(2), b_turned = (int)below(2), failed = 0;
    int64_t a_row = turned ? 1 : k, a_column = turned ? m : 1;
    int64_t b_row = b_turned ? 1 : n, b_column = b_turned ? k : 1;
    float *a = room(m * k, 4), *b = room(k * n, 4), *c = room(m * n, 4);
    float *begin = below(2) ? room(n, 4) : NULL;
    for (int64_t i = 0; i < m * k; i++)
        a[i] = (float)(2 * share() - 1);
    for (int64_t i = 0; i < k * n; i++)
        b[i] = (float)(2 * share() - 1);
    for (int64_t i = 0; begin && i < n; i++)
        begin[i] = (float)share();
    if (!gsina_product(m, k, n, a, a_row, a_column, b, b_row, b_column, begin, c))
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = begin ? begin[j] : 0;
                for (int64_t l = 0; l < k; l++)
                    sum += (double)a[i * a_row + l * a_column] * b[l * b_row + j * b_column];
                failed |= !(fabs(sum - c[i * n + j]) < 1e-4);
            }
    free(a), free(b), free(c), free(begin);
    return failed;
}

int main(int count, char **given) {
    if (count != 4)
        return 2;
    state = strtoull(given[1], NULL, 10) * 2654435761u + 88172645463325252u;
    int64_t rounds = strtoll(given[2], NULL, 10);
    int planted = given[3][0] == '1';
    for (int64_t i = 0; i < rounds; i++)
        if (round_of(planted) || round_of_messages() || round_of_products()) {
            fprintf(stderr, "round %lld gave a wrong result\n", (long long)i);
            return 1;
        }
    return 0;
}
