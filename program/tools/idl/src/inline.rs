//! Replaces every reference to a type alias by what it stands for.
//!
//! Alignment-free wrappers (PodU64, PodBool, pod_wrapper enums) reach the IDL as `"kind": "type"` aliases, which
//! anchor-go 1.0.0 refuses. On the wire an alias is its target, so nothing is lost by inlining it.

use std::collections::BTreeMap;

use serde_json::Value;

/// Inlines all aliases of an IDL and removes their definitions. Fails on aliases with generic parameters and on aliases
/// that refer to themselves.
pub fn aliases(idl: &mut Value) -> Result<(), String> {
    let mut targets = BTreeMap::new();
    if let Some(types) = idl.get_mut("types").and_then(Value::as_array_mut) {
        for definition in types.iter() {
            if let Some((name, target)) = alias(definition)? {
                targets.insert(name, target);
            }
        }
        types.retain(|definition| definition["name"].as_str().is_none_or(|name| !targets.contains_key(name)));
    }
    replace(idl, &targets, 0)
}

/// The name and target of a definition that is an alias.
fn alias(definition: &Value) -> Result<Option<(String, Value)>, String> {
    let body = &definition["type"];
    if body["kind"] != "type" {
        return Ok(None);
    }
    let name = definition["name"].as_str().ok_or("an alias without a name")?;
    if definition.get("generics").is_some_and(|g| g.as_array().is_none_or(|g| !g.is_empty())) {
        return Err(format!("the alias {name} has generic parameters, which Go bindings cannot express"));
    }
    let target = body.get("alias").ok_or(format!("the alias {name} has no target"))?;
    Ok(Some((name.to_string(), target.clone())))
}

/// Deeper than any chain of aliases that ends.
const MAX_DEPTH: usize = 64;

fn replace(value: &mut Value, targets: &BTreeMap<String, Value>, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("an alias refers to itself, or the IDL is nested too deeply".into());
    }
    let referenced = value["defined"]["name"].as_str().and_then(|name| targets.get(name));
    if let Some(target) = referenced {
        *value = target.clone();
        return replace(value, targets, depth + 1); // the target may name another alias
    }
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| replace(item, targets, depth + 1)),
        Value::Object(map) => map.values_mut().try_for_each(|item| replace(item, targets, depth + 1)),
        _ => Ok(()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn aliases_are_inlined_everywhere_and_removed() {
        let mut idl = json!({
            "instructions": [{"name": "pay", "args": [{"name": "amount", "type": {"defined": {"name": "PodU64"}}}]}],
            "types": [
                {"name": "PodU64", "type": {"kind": "type", "alias": "u64"}},
                {"name": "Money", "type": {"kind": "type", "alias": {"defined": {"name": "PodU64"}}}},
                {"name": "Row", "type": {"kind": "struct", "fields": [
                    {"name": "a", "type": {"array": [{"defined": {"name": "Money"}}, 4]}},
                    {"name": "b", "type": {"option": {"defined": {"name": "Other"}}}},
                ]}},
            ],
        });
        aliases(&mut idl).unwrap();
        assert_eq!(
            idl,
            json!({
                "instructions": [{"name": "pay", "args": [{"name": "amount", "type": "u64"}]}],
                "types": [
                    {"name": "Row", "type": {"kind": "struct", "fields": [
                        {"name": "a", "type": {"array": ["u64", 4]}},
                        {"name": "b", "type": {"option": {"defined": {"name": "Other"}}}},
                    ]}},
                ],
            })
        );
    }

    #[test]
    fn an_alias_of_itself_is_refused() {
        let mut idl = json!({"types": [
            {"name": "A", "type": {"kind": "type", "alias": {"defined": {"name": "B"}}}},
            {"name": "B", "type": {"kind": "type", "alias": {"defined": {"name": "A"}}}},
            {"name": "C", "type": {"kind": "struct", "fields": [{"name": "a", "type": {"defined": {"name": "A"}}}]}},
        ]});
        assert!(aliases(&mut idl).unwrap_err().contains("itself"));
    }

    #[test]
    fn a_generic_alias_is_refused() {
        let mut idl = json!({"types": [
            {"name": "PodVec", "generics": [{"kind": "type", "name": "T"}], "type": {"kind": "type", "alias": "bytes"}},
        ]});
        assert!(aliases(&mut idl).unwrap_err().contains("PodVec"));
    }
}
