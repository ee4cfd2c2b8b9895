//! The conditions that the program's accounts carry: `constraint = X @ E` and `address = X @ E`.

use std::ops::Range;

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Meta};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Constraint,
    Address,
}

/// Where the expressions of the conditions of an `#[account(..)]` stand.
pub fn conditions(attribute: &Attribute) -> Vec<(Condition, Range<usize>)> {
    match &attribute.meta {
        Meta::List(list) if attribute.path().is_ident("account") => in_tokens(list.tokens.clone()),
        _ => vec![],
    }
}

fn in_tokens(tokens: TokenStream) -> Vec<(Condition, Range<usize>)> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    tokens.split(|token| is(token, ',')).filter_map(condition).collect()
}

fn condition(part: &[TokenTree]) -> Option<(Condition, Range<usize>)> {
    let [TokenTree::Ident(name), equals, rest @ ..] = part else { return None };
    let kind = match name.to_string().as_str() {
        "constraint" => Condition::Constraint,
        "address" => Condition::Address,
        _ => return None,
    };
    let rest = rest.split(|token| is(token, '@')).next()?;
    let (first, last) = (rest.first()?, rest.last()?);
    is(equals, '=').then(|| (kind, first.span().byte_range().start..last.span().byte_range().end))
}

fn is(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// Whether the item is part of some builds only.
pub fn conditional(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg"))
}

/// The text between the braces of a block.
pub fn inside(block: &syn::Block) -> Range<usize> {
    block.brace_token.span.open().byte_range().end..block.brace_token.span.close().byte_range().start
}
