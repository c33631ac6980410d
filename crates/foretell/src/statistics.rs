//! Small statistics: means, quantiles, R², the normal distribution.

/// The mean of `values`; 0 for none.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The standard deviation of `values` with divisor n; 0 for none.
pub fn standard_deviation(values: &[f64]) -> f64 {
    let center = mean(values);
    mean(&values.iter().map(|v| (v - center).powi(2)).collect::<Vec<_>>()).sqrt()
}

/// The standard error of the mean of `values`: standard deviation with divisor n, over √n (as the paper's tables).
pub fn standard_error(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { standard_deviation(values) / (values.len() as f64).sqrt() }
}

/// The least and the largest of `values`; (∞, −∞) for none.
pub fn min_and_max(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// A range, wider on both sides by `share` of itself.
pub(crate) fn widen_range((low, high): (f64, f64), share: f64) -> (f64, f64) {
    (low - share * (high - low), high + share * (high - low))
}

/// The p-quantile of `sorted` (increasing), straight-line interpolated between order statistics (R's type 7).
///
/// # Panics
/// If `sorted` is empty.
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let position = p.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// The coefficient of determination R² = 1 − Σ(y − ŷ)² / Σ(y − ȳ)², ȳ the mean of `truth`; 0 if `truth` is constant.
///
/// ```
/// assert_eq!(foretell::statistics::r_squared(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0]), 1.0);
/// assert_eq!(foretell::statistics::r_squared(&[2.0, 2.0, 2.0], &[1.0, 2.0, 3.0]), 0.0);
/// ```
pub fn r_squared(forecast: &[f64], truth: &[f64]) -> f64 {
    // squares of numbers beyond 1e150 would be infinite
    let largest = forecast.iter().chain(truth).fold(0.0, |largest: f64, y| largest.max(y.abs()));
    if largest > 1e150 && largest.is_finite() {
        let [forecast, truth] =
            [forecast, truth].map(|values| values.iter().map(|y| y / largest).collect::<Vec<f64>>());
        return r_squared(&forecast, &truth);
    }
    let center = mean(truth);
    let residual: f64 = forecast.iter().zip(truth).map(|(f, y)| (y - f).powi(2)).sum();
    let total = sum_of_squared_deviations(truth, center);
    if total > 0.0 { 1.0 - residual / total } else { 0.0 }
}

/// The mean absolute error of `forecast` against `truth`; 0 for none.
pub fn mean_absolute_error(forecast: &[f64], truth: &[f64]) -> f64 {
    mean(&forecast.iter().zip(truth).map(|(f, y)| (y - f).abs()).collect::<Vec<_>>())
}

/// The ranks of `values` from 1, ties sharing their mean rank. What is not a number ranks as [`f64::total_cmp`] says.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let tied =
            order[start..].iter().skip(1).take_while(|&&i| values[i] <= values[order[start]]).count() + 1;
        for &i in &order[start..start + tied] {
            ranks[i] = start as f64 + (tied as f64 + 1.0) / 2.0;
        }
        start += tied;
    }
    ranks
}

/// Spearman's rank correlation ρ of `a` and `b`; 0 if either is constant.
pub fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (ranks(a), ranks(b));
    let (mean_a, mean_b) = (mean(&a), mean(&b));
    let covariance: f64 = a.iter().zip(&b).map(|(x, y)| (x - mean_a) * (y - mean_b)).sum();
    let scale = (sum_of_squared_deviations(&a, mean_a) * sum_of_squared_deviations(&b, mean_b)).sqrt();
    if scale > 0.0 { covariance / scale } else { 0.0 }
}

fn sum_of_squared_deviations(values: &[f64], center: f64) -> f64 {
    values.iter().map(|v| (v - center).powi(2)).sum()
}

/// Φ(z), the distribution function of the standard normal distribution; absolute error below 1e-11.
///
/// ```
/// use foretell::statistics::normal_cdf;
/// assert!((normal_cdf(5.0 / 3.0) - 0.952_209_647_727_185).abs() < 1e-11);
/// ```
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * statrs::function::erf::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Φ⁻¹(p), the p-quantile of the standard normal distribution: ±∞ at p = 1 and p = 0.
///
/// ```
/// assert!((foretell::statistics::normal_quantile(0.95) - 1.644_853_626_951).abs() < 1e-9);
/// ```
pub fn normal_quantile(p: f64) -> f64 {
    -std::f64::consts::SQRT_2 * statrs::function::erf::erfc_inv(2.0 * p.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_share_ties_and_take_what_is_not_a_number() {
        assert_eq!(ranks(&[0.3, 0.1, 0.3, f64::NAN]), [2.5, 1.0, 2.5, 4.0]);
        assert!(spearman(&[f64::NAN, 1.0], &[1.0, 2.0]).is_finite());
    }

    #[test]
    fn normal_distribution_agrees_with_tables_and_with_its_inverse() {
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.841_344_746_068_543),
            (2.326_347_874_040_841, 0.99),
            (-6.0, 9.865_876_450_377e-10),
        ] {
            assert!((normal_cdf(z) / p - 1.0).abs() < 1e-9, "Φ({z}) = {}", normal_cdf(z));
            assert!((normal_quantile(p) - z).abs() < 1e-8, "Φ⁻¹({p}) = {}", normal_quantile(p));
        }
        assert!(normal_quantile(0.0).is_infinite() && normal_quantile(1.0).is_infinite());
    }

    #[test]
    fn tied_ranks_share_their_mean() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert!((spearman(&[1.0, 2.0, 3.0], &[10.0, 20.0, 15.0]) - 0.5).abs() < 1e-12);
    }
}
