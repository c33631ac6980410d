//! Steps of any unit as epochs.

/// Steps as epochs x ≥ 1, and `target` as one of them: x counts the median spacing of `steps` (of one step: the step itself),
/// from 1 at the least. Epochs 1, 2, 3, … stay what they are, and epochs 0, 1, 2, … become 1, 2, 3, …
///
/// # Panics
/// If there are no steps.
pub(crate) fn epochs_of(steps: &[f64], target: f64) -> (Vec<f64>, f64) {
    let mut spacings: Vec<f64> = steps.windows(2).map(|pair| pair[1] - pair[0]).collect();
    spacings.sort_by(f64::total_cmp);
    let alone = if steps[0] > 0.0 { steps[0] } else { target - steps[0] };
    let spacing = spacings.get(spacings.len() / 2).copied().unwrap_or(alone);
    let first = (steps[0] / spacing).max(1.0);
    let epochs = steps.iter().map(|step| first + (step - steps[0]) / spacing).collect();
    (epochs, first + (target - steps[0]) / spacing)
}
