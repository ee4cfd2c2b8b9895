//! Drops `address` entries that name a field of another account, such as `order.rent_payer`.
//!
//! The framework writes them for constraints on state. Readers of IDLs, anchor-go 1.0.0 among them, take `address` to
//! be a constant key and refuse anything else. What the constraint says is still in `relations` and in the program.

use serde_json::Value;

/// Removes every `address` below `instructions` that is not a constant key.
pub fn drop_field_paths(idl: &mut Value) {
    if let Some(instructions) = idl.get_mut("instructions") {
        walk(instructions);
    }
}

fn walk(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let names_field =
                fields.get("address").and_then(Value::as_str).is_some_and(|address| address.contains('.'));
            if names_field {
                fields.remove("address");
            }
            fields.values_mut().for_each(walk);
        }
        Value::Array(items) => items.iter_mut().for_each(walk),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn keeps_keys_and_drops_paths() {
        let mut idl = json!({
            "address": "program",
            "instructions": [{"accounts": [{"address": "order.rent_payer"}, {"address": "111"}]}]
        });
        super::drop_field_paths(&mut idl);
        let expected = json!({
            "address": "program",
            "instructions": [{"accounts": [{}, {"address": "111"}]}]
        });
        assert_eq!(idl, expected);
    }
}
