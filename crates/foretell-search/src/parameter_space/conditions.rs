//! The conditions of a space's parameters: their order, and whether they can hold.

use super::{ParameterSpace, ParameterSpaceError};
use crate::condition::{ConditionClause, ValueTest, passes_all};
use crate::parameter::{Parameter, ParameterKind};
use foretell::Value;
use std::collections::BTreeMap;

impl ParameterSpace {
    /// A space of `parameters`, in this order, except that each one follows those that its condition names.
    ///
    /// # Errors
    /// [`ParameterSpaceError::Parameter`], `Empty`, `Duplicate`, `UnknownParent`, `Circle`, `Unreachable`, `Never`.
    pub fn new(parameters: Vec<Parameter>) -> Result<Self, ParameterSpaceError> {
        if parameters.is_empty() {
            return Err(ParameterSpaceError::Empty);
        }
        for (i, parameter) in parameters.iter().enumerate() {
            parameter.validate()?;
            if parameters[..i].iter().any(|other| other.name == parameter.name) {
                return Err(ParameterSpaceError::Duplicate { name: parameter.name.clone() });
            }
        }
        Ok(Self { parameters: settle_conditions(parameters)? })
    }
}

/// The `parameters`, each after those that its condition names, with the values that these take.
fn settle_conditions(parameters: Vec<Parameter>) -> Result<Vec<Parameter>, ParameterSpaceError> {
    let kinds: BTreeMap<String, ParameterKind> =
        parameters.iter().map(|parameter| (parameter.name.clone(), parameter.kind.clone())).collect();
    let mut settled = Vec::with_capacity(parameters.len());
    for mut parameter in parameters {
        check_condition(&mut parameter, &kinds)?;
        settled.push(parameter);
    }
    sort_by_conditions(settled)
}

/// The tests of `clauses` by the parameter that they are about.
pub(super) fn tests_by_name(clauses: &[ConditionClause]) -> BTreeMap<&str, Vec<&ValueTest>> {
    let mut tests: BTreeMap<&str, Vec<&ValueTest>> = BTreeMap::new();
    for clause in clauses {
        tests.entry(&clause.name).or_default().push(&clause.test);
    }
    tests
}

/// Checks that parameters of these `kinds` can fulfil the condition of `parameter`.
fn check_condition(
    parameter: &mut Parameter,
    kinds: &BTreeMap<String, ParameterKind>,
) -> Result<(), ParameterSpaceError> {
    let name = parameter.name.clone();
    let Some(condition) = &mut parameter.active_if else { return Ok(()) };
    let written = condition.to_string();
    for clause in condition.clauses_mut() {
        let parent = clause.name.clone();
        let Some(kind) = kinds.get(&parent) else {
            let others: Vec<&str> = kinds.keys().map(String::as_str).filter(|other| *other != name).collect();
            let known = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
            return Err(ParameterSpaceError::UnknownParent { name, condition: written, parent, known });
        };
        for value in clause.test.values_mut() {
            let text = value.to_string();
            let Some(reachable) = kind.value_of(&text) else {
                let kind = kind.to_string();
                return Err(ParameterSpaceError::Unreachable { name, parent, value: text, kind });
            };
            *value = reachable;
        }
    }
    let never = tests_by_name(condition.clauses())
        .into_iter()
        .find(|(parent, tests)| passing_value(&kinds[*parent], tests).is_none());
    match never {
        Some((parent, _)) => Err(ParameterSpaceError::Never {
            name,
            condition: written,
            parent: parent.to_owned(),
            kind: kinds[parent].to_string(),
        }),
        None => Ok(()),
    }
}

/// A value of `kind` that passes all `tests`; `None` if there is none.
pub(super) fn passing_value(kind: &ParameterKind, tests: &[&ValueTest]) -> Option<Value> {
    let values = match (kind.options(), kind.bounds()) {
        (Some(options), _) => options,
        (None, None) => Vec::new(),
        (None, Some(bounds)) => {
            let numbers = tests.iter().flat_map(|test| test.marks()).chain([bounds.lo, bounds.hi]);
            let mut marks: Vec<f64> = numbers.map(|number| number.clamp(bounds.lo, bounds.hi)).collect();
            marks.sort_by(f64::total_cmp);
            // the answers are the same between two marks, so a value at each mark and one on each side are enough
            let between = marks.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
            let step = bounds.step.unwrap_or(0.0);
            let at = marks.iter().flat_map(|mark| [*mark, mark - step, mark + step]);
            at.chain(between).filter_map(|number| kind.nearest_value(&Value::Number(number))).collect()
        }
    };
    values.into_iter().find(|value| passes_all(value, tests))
}

/// The parameters that the condition of `parameter` names.
fn parent_names(parameter: &Parameter) -> impl Iterator<Item = &str> {
    let clauses = parameter.active_if.iter().flat_map(|condition| condition.clauses());
    clauses.map(|clause| clause.name.as_str())
}

/// Moves each parameter behind those that its condition names, and no other.
fn sort_by_conditions(mut left: Vec<Parameter>) -> Result<Vec<Parameter>, ParameterSpaceError> {
    let mut sorted: Vec<Parameter> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let next = left.iter().position(|parameter| {
            parent_names(parameter).all(|parent| sorted.iter().any(|known| known.name == parent))
        });
        let Some(next) = next else {
            return Err(ParameterSpaceError::Circle { circle: describe_cycle(&left) });
        };
        sorted.push(left.remove(next));
    }
    Ok(sorted)
}

/// A circle among parameters each of which waits for another one.
fn describe_cycle(waiting: &[Parameter]) -> String {
    let mut path = vec![0];
    loop {
        let last = path[path.len() - 1];
        // each of them waits for at least one other
        let next = parent_names(&waiting[last])
            .find_map(|parent| waiting.iter().position(|parameter| parameter.name == parent));
        let Some(next) = next else { break };
        if let Some(start) = path.iter().position(|&known| known == next) {
            path.drain(..start);
            break;
        }
        path.push(next);
    }
    let conditions = path.into_iter().map(|index| {
        let condition = waiting[index].active_if.as_ref().map(ToString::to_string).unwrap_or_default();
        format!("{} applies only if {condition}", waiting[index].name)
    });
    conditions.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Condition;

    fn condition(text: &str) -> Condition {
        text.parse().expect(text)
    }

    #[test]
    fn a_value_that_passes_is_found_wherever_there_is_one() {
        for (kind, text, expected) in [
            ("int:1:8", "n>=3 and n<4", Some(3.0)),
            ("int:1:8", "n>3 and n<4", None),
            ("int:1:8", "n>8", None),
            ("int:0:8:4", "n!=0,8", Some(4.0)),
            ("float:0:1", "n>0.25 and n<0.5", Some(0.375)),
            ("float:0:1", "n!=0", Some(1.0)),
            ("log:0.001:1", "n<0.001", None),
            ("choice:16,32,64", "n>16", Some(32.0)),
        ] {
            let kind = ParameterKind::parse("n", kind).expect(kind);
            let read = condition(text);
            let tests: Vec<&ValueTest> = read.clauses().iter().map(|clause| &clause.test).collect();
            let found = passing_value(&kind, &tests).and_then(|value| value.as_number());
            assert_eq!(found, expected, "{kind} {text}");
        }
    }
}
