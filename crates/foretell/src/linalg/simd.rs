//! The inner loops, compiled once for each instruction set and chosen at run time.
//!
//! Every function here has one body, in safe Rust, written in lanes of eight `f64` so that the compiler can vectorize it.
//! One body is compiled for AVX-512, AVX2 and the baseline; the only `unsafe` is the call into a version whose
//! instructions were just found to be there. All versions sum in the same order and round as often: `mul_add` is one
//! instruction in AVX-512, AVX2 (with FMA) and on ARM, and on processors without it a slow call with the same result. So
//! all give the same bits, which tests compare.

#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU8, Ordering};

/// Lanes of the widest vector, in `f64`.
pub const VECTOR_LANES: usize = 8;

/// Defines a function with one body that is compiled for several instruction sets and dispatched at run time. All versions return the
/// same bits if the body calls nothing but itself and functions that are always inlined.
///
/// ```
/// foretell::dispatched! {
///     /// Multiplies all of `values` by `factor`.
///     pub fn scale(values: &mut [f64], factor: f64) {
///         values.iter_mut().for_each(|value| *value *= factor);
///     }
/// }
/// let mut values = [1.0, 2.0];
/// scale(&mut values, 3.0);
/// assert_eq!(values, [3.0, 6.0]);
/// ```
#[macro_export]
macro_rules! dispatched {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        #[allow(unsafe_code, reason = "the call into the version for an instruction set that was found to be there")]
        #[allow(clippy::too_many_arguments, reason = "the compiler vectorizes plain slices")]
        $vis fn $name($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn body($($argument: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,fma")]
                fn avx512($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }
                #[target_feature(enable = "avx2,fma")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    body($($argument),*)
                }
                match $crate::linalg::simd::instruction_set() {
                    // SAFETY: `instruction_set` found every feature the function was compiled for.
                    $crate::linalg::simd::InstructionSet::Avx512 => return unsafe { avx512($($argument),*) },
                    // SAFETY: as above.
                    $crate::linalg::simd::InstructionSet::Avx2 => return unsafe { avx2($($argument),*) },
                    $crate::linalg::simd::InstructionSet::Baseline => {}
                }
            }
            body($($argument),*)
        }
    };
}
pub use dispatched;

/// The instruction sets a body is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// The instructions of every processor of the target.
    Baseline,
    /// 256-bit vectors, and fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 512-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The widest instruction set this processor has.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn instruction_set() -> InstructionSet {
    let known = DETECTED_SET.load(Ordering::Relaxed);
    if let Some(&set) = INSTRUCTION_SETS.get(usize::from(known)) {
        return set;
    }
    let found = detect_instruction_set();
    let place = INSTRUCTION_SETS.iter().position(|&set| set == found).map_or(u8::MAX, |place| place as u8);
    // two threads may get here at once: both find the same, so it cannot matter which one is last
    DETECTED_SET.store(place, Ordering::Relaxed);
    found
}

/// The only set of other processors.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn instruction_set() -> InstructionSet {
    InstructionSet::Baseline
}

/// Every set.
#[cfg(target_arch = "x86_64")]
const INSTRUCTION_SETS: [InstructionSet; 3] =
    [InstructionSet::Baseline, InstructionSet::Avx2, InstructionSet::Avx512];

/// The place in [`INSTRUCTION_SETS`] of what [`detect_instruction_set`] found, beyond its end before: one look is cheaper than one per feature.
#[cfg(target_arch = "x86_64")]
static DETECTED_SET: AtomicU8 = AtomicU8::new(u8::MAX);

/// Asks the processor.
#[cfg(target_arch = "x86_64")]
fn detect_instruction_set() -> InstructionSet {
    let avx512 = [
        is_x86_feature_detected!("avx512f"),
        is_x86_feature_detected!("avx512dq"),
        is_x86_feature_detected!("avx512vl"),
        is_x86_feature_detected!("avx512bw"),
    ];
    widest(avx512, is_x86_feature_detected!("avx2"), is_x86_feature_detected!("fma"))
}

/// The widest set all of whose features are there. Both wide ones are compiled for fused multiply-add, which a virtual machine may
/// hide while it shows the vectors.
#[cfg(target_arch = "x86_64")]
fn widest(avx512: [bool; 4], avx2: bool, fma: bool) -> InstructionSet {
    match (fma, avx512 == [true; 4], avx2) {
        (true, true, _) => InstructionSet::Avx512,
        (true, false, true) => InstructionSet::Avx2,
        _ => InstructionSet::Baseline,
    }
}

/// The sum of the lanes, pairwise, in a fixed order.
#[inline(always)]
pub(crate) fn sum_lanes(lanes: [f64; VECTOR_LANES]) -> f64 {
    ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]))
}

/// The first `width` numbers of four rows of a matrix whose rows are `stride` apart.
#[inline(always)]
pub fn four_rows(a: &[f64], stride: usize, rows: [usize; 4], width: usize) -> [&[f64]; 4] {
    let [i, j, k, l] = rows;
    // not `map`, which is not always inlined
    [
        &a[i * stride..i * stride + width],
        &a[j * stride..j * stride + width],
        &a[k * stride..k * stride + width],
        &a[l * stride..l * stride + width],
    ]
}

/// out += Σ_k c_k·row_k. Over slices, not lanes: that is what the compiler vectorizes best.
#[inline(always)]
pub fn add_four_rows(out: &mut [f64], c: [f64; 4], [r0, r1, r2, r3]: [&[f64]; 4]) {
    for ((((o, x0), x1), x2), x3) in out.iter_mut().zip(r0).zip(r1).zip(r2).zip(r3) {
        *o = c[0].mul_add(*x0, c[1].mul_add(*x1, c[2].mul_add(*x2, c[3].mul_add(*x3, *o))));
    }
}

/// The entries i … i + 3 of `vector`.
#[inline(always)]
pub fn four_entries(vector: &[f64], i: usize) -> [f64; 4] {
    [vector[i], vector[i + 1], vector[i + 2], vector[i + 3]]
}

/// [`sum_lanes`] of lanes that a loop has filled, which the compiler is kept from seeing through to: it would cut the loop
/// into 128-bit pieces to suit the sum.
#[inline(always)]
pub(crate) fn sum_filled(lanes: [f64; VECTOR_LANES]) -> f64 {
    sum_lanes(std::hint::black_box(lanes))
}

/// Σ a_i·b_i in lanes; the body of [`dot`], to be used inside other dispatched functions.
#[inline(always)]
pub fn dot_body(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let (blocks_a, rest_a) = a.as_chunks::<VECTOR_LANES>();
    let (blocks_b, rest_b) = b.as_chunks::<VECTOR_LANES>();
    let mut lanes = [0.0; VECTOR_LANES];
    for (block_a, block_b) in blocks_a.iter().zip(blocks_b) {
        for l in 0..VECTOR_LANES {
            lanes[l] = block_a[l].mul_add(block_b[l], lanes[l]);
        }
    }
    let mut sum = sum_filled(lanes);
    for (x, y) in rest_a.iter().zip(rest_b) {
        sum = x.mul_add(*y, sum);
    }
    sum
}

/// Σ (a_i − b_i)²·w_i in lanes, to be used inside dispatched functions.
#[inline(always)]
pub(crate) fn squared_distance_body(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (&a[..n], &b[..n]);
    let (blocks_a, rest_a) = a.as_chunks::<VECTOR_LANES>();
    let (blocks_b, rest_b) = b.as_chunks::<VECTOR_LANES>();
    let mut lanes = [0.0; VECTOR_LANES];
    for (block_a, block_b) in blocks_a.iter().zip(blocks_b) {
        for l in 0..VECTOR_LANES {
            let difference = block_a[l] - block_b[l];
            lanes[l] = difference.mul_add(difference, lanes[l]);
        }
    }
    let mut sum = sum_filled(lanes);
    for (x, y) in rest_a.iter().zip(rest_b) {
        sum = (x - y).mul_add(x - y, sum);
    }
    sum
}

/// e^x for x ≤ 0 (0 below −708), relative error below 3e-16·|x|-free rounding: see the test.
///
/// x = k·ln 2 + r with |r| ≤ ln 2 / 2 (Cody and Waite's two-part ln 2), e^r by its Taylor polynomial of degree 13, 2^k by
/// the exponent bits. Branch-free, so that loops over it vectorize.
#[inline(always)]
pub(crate) fn exp_body(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const ROUNDING_SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5·2^52: adding it rounds to an integer kept in the low bits
    let clamped = if x < -708.0 { -708.0 } else { x };
    let shifted = clamped * std::f64::consts::LOG2_E + ROUNDING_SHIFT;
    let k = shifted - ROUNDING_SHIFT;
    let r = (-k).mul_add(LN2_LOW, (-k).mul_add(LN2_HIGH, clamped));
    let mut p: f64 = 1.0 / 6_227_020_800.0;
    for inverse in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        p = p.mul_add(r, inverse);
    }
    // the low bits of `shifted` hold k in two's complement; 1023 is the exponent's bias
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if x < -708.0 { 0.0 } else { p * power }
}

/// 2^x = 2^k·2^f for x ≤ 0 (below −1021, 2^−1021): k where the exponent's bits are, and f, |f| ≤ ½.
#[inline(always)]
fn split_power(x: f64) -> (u64, f64) {
    const ROUNDING_SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5·2^52, as in `exp_body`
    let clamped = if x < -1021.0 { -1021.0 } else { x };
    let shifted = clamped + ROUNDING_SHIFT;
    (shifted.to_bits() << 52, clamped - (shifted - ROUNDING_SHIFT))
}

/// p·2^k for `split_power`'s k, p and the product being normal numbers: an addition to the exponent.
#[inline(always)]
fn times_power(p: f64, k: u64) -> f64 {
    f64::from_bits(p.to_bits().wrapping_add(k))
}

/// 2^x for x ≤ 0 (2^−1021 below −1021), relative error below 5e-16: for kernels, whose γ takes up the factor log₂e.
///
/// 2^f by its minimax polynomial of degree 10 (error 2.1e-16, by Remez's exchange).
#[inline(always)]
pub(crate) fn exp2_body(x: f64) -> f64 {
    let (power, f) = split_power(x);
    times_power(fraction_power(f), power)
}

/// low + high·f.
#[inline(always)]
fn linear_terms(f: f64, low: f64, high: f64) -> f64 {
    high.mul_add(f, low)
}

/// 2^f for |f| ≤ ½, relative error below 5e-16.
#[inline(always)]
fn fraction_power(f: f64) -> f64 {
    // the small terms in pairs (Estrin), a shorter chain than Horner's, and the large ones last, for rounding's sake
    let (f2, f4) = (f * f, (f * f) * (f * f));
    let middle = f2.mul_add(
        linear_terms(f, 1.540_352_996_112_707_6e-4, 1.525_265_811_640_985_5e-5),
        linear_terms(f, 9.618_129_108_034_597e-3, 1.333_355_822_856_176_6e-3),
    );
    let end = f2.mul_add(
        7.037_278_846_726_901e-9,
        linear_terms(f, 1.321_566_283_595_924e-6, 1.020_853_792_965_740_4e-7),
    );
    let start = linear_terms(f, 2.402_265_069_590_876_8e-1, 5.550_410_866_445_883e-2);
    let high = f2.mul_add(f4.mul_add(end, middle), start);
    1.0 + f.mul_add(6.931_471_805_599_498e-1, f2 * high)
}

/// e^x for every x: 0 below −708, ∞ above 709, NaN for NaN; relative error below 1e-15·(1 + |x|/100). Branch-free.
///
/// x·log₂e = k + f in two parts, so that the rounding of the product is made up for; then 2^k·2^f.
#[inline(always)]
pub fn exp_any_body(x: f64) -> f64 {
    const LOG2_E_LOW: f64 = 2.035_527_374_093_103_3e-17; // log₂e minus the double nearest to it
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5·2^52, as in `exp_body`
    let clamped = x.clamp(-708.0, 709.0);
    let shifted = clamped.mul_add(std::f64::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let f = clamped.mul_add(LOG2_E_LOW, clamped.mul_add(std::f64::consts::LOG2_E, -k));
    let power = times_power(fraction_power(f), shifted.to_bits() << 52);
    let above = if x > 709.0 { f64::INFINITY } else { power };
    let below = if x < -708.0 { 0.0 } else { above };
    if x.is_nan() { x } else { below }
}

/// ln x, NaN for x ≤ 0 and for what is not finite; relative error below 1e-15 (absolute near 1). Branch-free.
///
/// x = 2^k·m with √½ ≤ m < √2; ln m = 2·artanh(s), s = (m − 1)/(m + 1), by its series up to s^19.
#[inline(always)]
pub fn ln_body(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const INTEGER_SHIFT_BITS: u64 = 0x4330_0000_0000_0000; // 2^52
    let bits = x.to_bits();
    // the exponent of x/√½ rounded down, with a bias of 1023 that keeps it positive
    let offset = bits.wrapping_sub(SQRT_HALF).wrapping_add(1023 << 52);
    let biased = offset >> 52;
    let k = f64::from_bits(INTEGER_SHIFT_BITS | biased) - (4_503_599_627_370_496.0 + 1023.0);
    let m = f64::from_bits(bits.wrapping_sub((biased << 52).wrapping_sub(1023 << 52)));
    let s = (m - 1.0) / (m + 1.0);
    let t = s * s;
    let mut p: f64 = 1.0 / 19.0;
    for inverse in
        [1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0]
    {
        p = p.mul_add(t, inverse);
    }
    let mantissa = (2.0 * s).mul_add(p * t, 2.0 * s);
    let logarithm = k.mul_add(LN2_HIGH, k.mul_add(LN2_LOW, mantissa));
    // `&`, not `&&`, which is a branch
    if (x > 0.0) & (x < f64::INFINITY) { logarithm } else { f64::NAN }
}

/// 2^x for x ≤ 0 (2^−1021 below −1021), relative error below 5e-11: for forecasts, where that is plenty.
///
/// 2^f by its minimax polynomial of degree 7 (error 4.0e-11, by Remez's exchange).
#[inline(always)]
pub(crate) fn exp2_rough_body(x: f64) -> f64 {
    let (power, f) = split_power(x);
    // pairs first (Estrin), a shorter chain than Horner's
    let (f2, f4) = (f * f, (f * f) * (f * f));
    let start = f2.mul_add(
        linear_terms(f, 0.240_226_511_981_572_07, 0.055_504_103_534_532_085),
        linear_terms(f, 0.999_999_999_961_682, 0.693_147_180_728_445_6),
    );
    let end = f2.mul_add(
        linear_terms(f, 0.000_154_692_911_308_010_6, 0.000_015_201_922_641_975_562),
        linear_terms(f, 0.009_618_027_253_711_37, 0.001_333_392_255_907_752_7),
    );
    times_power(f4.mul_add(end, start), power)
}

dispatched! {
    /// Σ a_i·b_i.
    pub fn dot(a: &[f64], b: &[f64]) -> f64 {
        dot_body(a, b)
    }
}

dispatched! {
    /// Σ a_i, in lanes.
    pub(crate) fn sum(a: &[f64]) -> f64 {
        let (blocks, rest) = a.as_chunks::<VECTOR_LANES>();
        let mut lanes = [0.0; VECTOR_LANES];
        for block in blocks {
            for l in 0..VECTOR_LANES {
                lanes[l] += block[l];
            }
        }
        sum_filled(lanes) + rest.iter().sum::<f64>()
    }
}

dispatched! {
    /// out_i = e^(−γ·d_i), relative error below 5e-16 + 4e-16·γ·d_i.
    pub(crate) fn exp_scaled(distances: &[f64], gamma: f64, out: &mut [f64]) {
        let rate = gamma * std::f64::consts::LOG2_E;
        for (value, &distance) in out.iter_mut().zip(distances) {
            *value = exp2_body(-rate * distance);
        }
    }
}

dispatched! {
    /// The squared distances between all rows (length `d`) of `a` and all rows of `b`, row-major into `out`, whose rows are `stride` apart.
    pub(crate) fn squared_distances(a: &[f64], b: &[f64], d: usize, stride: usize, out: &mut [f64]) {
        if d == 0 {
            out.fill(0.0);
            return;
        }
        for (row, x) in out.chunks_mut(stride).zip(a.chunks_exact(d)) {
            for (cell, y) in row.iter_mut().zip(b.chunks_exact(d)) {
                *cell = squared_distance_body(x, y);
            }
        }
    }
}

dispatched! {
    /// The inner products between all rows (length `d`) of `a` and all rows of `b`, laid out as [`squared_distances`].
    pub(crate) fn inner_products(a: &[f64], b: &[f64], d: usize, stride: usize, out: &mut [f64]) {
        if d == 0 {
            out.fill(0.0);
            return;
        }
        for (row, x) in out.chunks_mut(stride).zip(a.chunks_exact(d)) {
            for (cell, y) in row.iter_mut().zip(b.chunks_exact(d)) {
                *cell = dot_body(x, y);
            }
        }
    }
}

/// Runs `work` once for each instruction set this processor has, and returns the results. For tests: meanwhile other threads of the process
/// compute with the same set, to the same bits.
pub fn with_each_instruction_set<T>(mut work: impl FnMut() -> T) -> Vec<T> {
    #[cfg(target_arch = "x86_64")]
    {
        static TURN_LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());
        let _turn = TURN_LOCK.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let widest = instruction_set();
        let place = INSTRUCTION_SETS.iter().position(|&set| set == widest).unwrap_or(0) as u8;
        // narrowest first, so that the widest is back in force at the end
        let results = (0..=place).map(|allowed| {
            DETECTED_SET.store(allowed, Ordering::Relaxed);
            work()
        });
        results.collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    vec![work()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn no_set_is_chosen_without_all_of_its_features() {
        use super::InstructionSet::{Avx2, Avx512, Baseline};
        let all = [true; 4];
        assert_eq!(super::widest(all, true, true), Avx512);
        assert_eq!(super::widest(all, true, false), Baseline, "both wide sets use fused multiply-add");
        assert_eq!(super::widest([true, true, true, false], true, true), Avx2);
        assert_eq!(super::widest([false; 4], false, true), Baseline);
        assert_eq!(super::widest([false; 4], true, false), Baseline);
    }

    #[test]
    fn exp_is_exact_to_rounding_and_zero_far_below() {
        for i in 0..7000 {
            let x = -f64::from(i) / 10.0;
            let relative = (exp_body(x) / x.exp() - 1.0).abs();
            assert!(relative < 5e-16, "e^{x}: {relative}");
        }
        assert!(exp_body(-1e4) <= 0.0 && exp_body(-f64::INFINITY) <= 0.0);
        assert!((exp_body(0.0) - 1.0).abs() < 1e-18);
    }

    #[test]
    fn powers_of_two_are_as_exact_as_they_say() {
        for i in 0..100_000 {
            let x = -f64::from(i) / 100.0;
            let relative = |power: f64| (power / x.exp2() - 1.0).abs();
            assert!(relative(exp2_body(x)) < 5e-16 && relative(exp2_rough_body(x)) < 5e-11, "2^{x}");
        }
        for power in [exp2_body, exp2_rough_body] {
            assert!(power(-1e4) < 1e-300 && power(-f64::INFINITY) < 1e-300);
        }
        assert!(exp2_body(0.0).total_cmp(&1.0).is_eq());
    }

    #[test]
    fn exponentials_and_logarithms_of_anything_are_those_of_the_library() {
        for i in -7000..7000 {
            let x = f64::from(i) / 10.0;
            let relative = (exp_any_body(x) / x.exp() - 1.0).abs();
            assert!(relative < 1e-15 * (1.0 + x.abs() / 100.0), "e^{x}: {relative}");
            let y = (x / 2.0).exp();
            let error = (ln_body(y) - y.ln()).abs();
            assert!(error < 1e-15 * (1.0 + y.ln().abs()), "ln {y}: {error}");
        }
        for i in 1..4000 {
            let y = 0.5 + f64::from(i) / 2000.0;
            assert!((ln_body(y) - y.ln()).abs() < 4e-16, "ln {y}: {}", ln_body(y) - y.ln());
        }
        assert!(exp_any_body(-1e4) <= 0.0 && exp_any_body(f64::NEG_INFINITY) <= 0.0);
        assert!(exp_any_body(710.0).is_infinite() && exp_any_body(f64::INFINITY).is_infinite());
        for undefined in [exp_any_body(f64::NAN), ln_body(0.0), ln_body(-1.0), ln_body(f64::INFINITY)] {
            assert!(undefined.is_nan());
        }
    }

    #[test]
    fn all_instruction_sets_give_the_same_bits_as_the_plain_loop() {
        let a: Vec<f64> = (0..37 * 21).map(|i| (f64::from(i) * 0.7).sin()).collect();
        let b: Vec<f64> = (0..37 * 13).map(|i| (f64::from(i) * 0.3).cos()).collect();
        let all = with_each_instruction_set(|| {
            let mut distances = vec![0.0; 21 * 16];
            squared_distances(&a, &b, 37, 16, &mut distances);
            let mut products = vec![0.0; 21 * 16];
            inner_products(&a, &b, 37, 16, &mut products);
            let mut kernel = vec![0.0; distances.len()];
            exp_scaled(&distances, 0.3, &mut kernel);
            let total = sum(&kernel[..21 * 16 - 3]);
            (distances, products, kernel, total)
        });
        for result in &all {
            assert!(result == &all[0], "instruction sets differ");
        }
        let (distances, products, kernel, total) = &all[0];
        let plain_total: f64 = kernel[..21 * 16 - 3].iter().sum();
        assert!((total / plain_total - 1.0).abs() < 1e-13);
        let plain_distance: f64 = a[..37].iter().zip(&b[37..74]).map(|(x, y)| (x - y).powi(2)).sum();
        let plain_product: f64 = a[..37].iter().zip(&b[37..74]).map(|(x, y)| x * y).sum();
        assert!((distances[1] - plain_distance).abs() < 1e-12 && (products[1] - plain_product).abs() < 1e-12);
    }
}
