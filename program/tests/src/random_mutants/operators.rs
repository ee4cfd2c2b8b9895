//! What stands in the place of an operator, a method or a type.

use syn::{BinOp, GenericArgument, PathArguments, ReturnType, Type};

/// The operators that may stand in an operator's place, and what kind of error that is.
pub fn binary(op: &BinOp) -> (&'static str, &'static [&'static str]) {
    match op {
        BinOp::Lt(_) => ("comparison", &["<=", ">"]),
        BinOp::Le(_) => ("comparison", &["<", ">"]),
        BinOp::Gt(_) => ("comparison", &[">=", "<"]),
        BinOp::Ge(_) => ("comparison", &[">", "<"]),
        BinOp::Eq(_) => ("comparison", &["!="]),
        BinOp::Ne(_) => ("comparison", &["=="]),
        BinOp::And(_) => ("boolean operator", &["||"]),
        BinOp::Or(_) => ("boolean operator", &["&&"]),
        BinOp::Add(_) => ("arithmetic", &["-"]),
        BinOp::Sub(_) => ("arithmetic", &["+"]),
        BinOp::Mul(_) => ("arithmetic", &["/"]),
        BinOp::Div(_) => ("arithmetic", &["*"]),
        BinOp::Rem(_) => ("arithmetic", &["/"]),
        BinOp::BitAnd(_) => ("arithmetic", &["|"]),
        BinOp::BitOr(_) => ("arithmetic", &["&"]),
        BinOp::BitXor(_) => ("arithmetic", &["|"]),
        BinOp::Shl(_) => ("arithmetic", &[">>"]),
        BinOp::Shr(_) => ("arithmetic", &["<<"]),
        BinOp::AddAssign(_) => ("arithmetic", &["-="]),
        BinOp::SubAssign(_) => ("arithmetic", &["+="]),
        BinOp::BitAndAssign(_) => ("arithmetic", &["|="]),
        BinOp::BitOrAssign(_) => ("arithmetic", &["&="]),
        _ => ("", &[]),
    }
}

/// The method that may stand in a method's place.
pub fn method(name: &str) -> Option<(&'static str, &'static str)> {
    let pairs = [
        ("checked_add", "checked_sub"),
        ("checked_mul", "checked_div"),
        ("saturating_add", "saturating_sub"),
        ("wrapping_add", "wrapping_sub"),
    ];
    for (one, other) in pairs {
        if name == one {
            return Some(("arithmetic", other));
        }
        if name == other {
            return Some(("arithmetic", one));
        }
    }
    match name {
        "min" => Some(("minimum and maximum", "max")),
        "max" => Some(("minimum and maximum", "min")),
        "is_some" => Some(("boolean operator", "is_none")),
        "is_none" => Some(("boolean operator", "is_some")),
        _ => None,
    }
}

/// What a function of this type may return instead of what its body does.
pub fn values(output: &ReturnType) -> &'static [&'static str] {
    let ReturnType::Type(_, of) = output else { return &[] };
    if let Some(inner) = result_of(of) {
        return match inner {
            Type::Tuple(tuple) if tuple.elems.is_empty() => &["Ok(())"],
            _ if name(inner) == "bool" => &["Ok(true)", "Ok(false)"],
            _ if is_integer(&name(inner)) => &["Ok(0)", "Ok(1)"],
            _ => &[],
        };
    }
    match name(of) {
        known if known == "bool" => &["true", "false"],
        known if is_integer(&known) => &["0", "1"],
        _ => &[],
    }
}

fn is_integer(name: &str) -> bool {
    matches!(
        name,
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize"
    )
}

fn name(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.get_ident().map_or(String::new(), ToString::to_string),
        _ => String::new(),
    }
}

fn result_of(of: &Type) -> Option<&Type> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first() {
        Some(GenericArgument::Type(inner)) => Some(inner),
        _ => None,
    }
}
