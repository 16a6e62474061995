/* For which processors the kernels are made; the choice is made when the library is loaded. */

#ifndef GSINA_TARGETS_H
#define GSINA_TARGETS_H

/* WIDE: once for processors with wide vectors, once for all. WIDEST: also for those with vectors of
 * 16 numbers, where rows are that long; the short groups of the soft top-r are not. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && __GNUC__ >= 12
#define WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#define WIDEST __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#define WIDEST
#endif

/* What is made for several processors must be inlined into the functions that are. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

#endif
