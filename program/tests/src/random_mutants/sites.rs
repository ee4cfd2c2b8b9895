//! Finds every site of a source file.

use std::ops::Range;

use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ItemFn, Lit, Signature, Stmt, Token, UnOp};

use super::attributes::{conditional, conditions, inside, Condition};
use super::operators::{binary, method, values};
use super::{Form, Site};

/// Files without sites: texts of errors and fields of events are no decisions.
const WITHOUT: [&str; 2] = ["errors.rs", "events/"];

/// All sites of the program, in the order of its files and of the places there.
pub fn all() -> Result<Vec<Site>, String> {
    let mut sites = vec![];
    for (file, source) in crate::mutants::weave_all(&[])? {
        if !WITHOUT.iter().any(|without| file.starts_with(without)) {
            sites.extend(of_file(&file, &source)?);
        }
    }
    Ok(sites)
}

/// The sites of one file.
pub fn of_file(file: &str, source: &str) -> Result<Vec<Site>, String> {
    let syntax = syn::parse_file(source).map_err(|e| format!("program/src/{file}: {e}"))?;
    let mut finder = Finder { file, source, function: String::new(), sites: vec![] };
    finder.visit_file(&syntax);
    finder.sites.sort_by_key(|site| (site.span.start, site.span.end));
    Ok(finder.sites)
}

struct Finder<'a> {
    file: &'a str,
    source: &'a str,
    function: String,
    sites: Vec<Site>,
}

impl Finder<'_> {
    fn text(&self, span: Range<usize>) -> &str {
        self.source.get(span).unwrap_or_default()
    }

    fn add(&mut self, operator: &'static str, form: Form, span: Range<usize>, replacement: String) {
        let original = self.text(span.clone()).to_owned();
        let line = 1 + self.text(0..span.start).matches('\n').count();
        let (file, function) = (self.file.to_owned(), self.function.clone());
        self.sites.push(Site { file, function, line, operator, form, span, original, replacement });
    }

    /// The expression with `other` in the place of a part of it.
    fn swap(&mut self, operator: &'static str, whole: Range<usize>, part: Range<usize>, other: &str) {
        let before = self.text(whole.start..part.start);
        let replacement = format!("{before}{other}{}", self.text(part.end..whole.end));
        self.add(operator, Form::Expression, whole, replacement);
    }

    fn function(&mut self, signature: &Signature, block: &Block) {
        // What constants are made of is computed before a switch can be on.
        if signature.constness.is_some() {
            return;
        }
        let around = std::mem::replace(&mut self.function, signature.ident.to_string());
        for value in values(&signature.output) {
            self.add("function's value", Form::Body, inside(block), (*value).to_owned());
        }
        self.visit_block(block);
        self.function = around;
    }

    fn require(&mut self, mac: &syn::Macro) {
        if !mac.path.is_ident("require") {
            return;
        }
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(mac.tokens.clone());
        let Some(condition) = arguments.ok().and_then(|all| all.into_iter().next()) else { return };
        self.add("require!", Form::Expression, condition.span().byte_range(), "true".to_owned());
        self.visit_expr(&condition);
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        match item {
            syn::Item::Fn(ItemFn { attrs, .. }) if conditional(attrs) => {}
            syn::Item::Mod(module) if conditional(&module.attrs) => {}
            syn::Item::Fn(_) | syn::Item::Impl(_) | syn::Item::Mod(_) | syn::Item::Struct(_) => {
                visit::visit_item(self, item);
            }
            syn::Item::Trait(_) => visit::visit_item(self, item),
            // Constants, enumerations, macros and imports.
            _ => {}
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.block);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !conditional(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let around = std::mem::replace(&mut self.function, item.ident.to_string());
        for field in &item.fields {
            let Some(name) = &field.ident else { continue };
            for (kind, span) in field.attrs.iter().flat_map(conditions) {
                let replacement = match kind {
                    Condition::Constraint => "true".to_owned(),
                    Condition::Address => format!("*{name}.account().address()"),
                };
                self.add("account constraint", Form::Expression, span.clone(), replacement);
                // The condition's own operators.
                if let (Condition::Constraint, Ok(found)) = (kind, of_expression(self, span)) {
                    self.sites.extend(found);
                }
            }
        }
        self.function = around;
    }

    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
    fn visit_pat(&mut self, _: &'ast syn::Pat) {}
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
    fn visit_generic_argument(&mut self, _: &'ast syn::GenericArgument) {}

    fn visit_expr_repeat(&mut self, repeat: &'ast syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.require(mac);
    }

    fn visit_stmt(&mut self, statement: &'ast Stmt) {
        if let Stmt::Expr(expression, Some(_)) = statement {
            let called = match expression {
                Expr::Try(inner) => &*inner.expr,
                other => other,
            };
            let operator = match called {
                Expr::MethodCall(_) | Expr::Call(_) => Some("call left out"),
                Expr::Assign(_) => Some("assignment left out"),
                _ => None,
            };
            if let Some(operator) = operator {
                self.add(operator, Form::Statement, statement.span().byte_range(), String::new());
            }
        }
        visit::visit_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        let whole = expression.span().byte_range();
        match expression {
            Expr::Const(_) => return,
            Expr::Binary(found) if !binds(expression) => {
                let (operator, others) = binary(&found.op);
                for other in others {
                    self.swap(operator, whole.clone(), found.op.span().byte_range(), other);
                }
            }
            Expr::Unary(found) if matches!(found.op, UnOp::Not(_)) => {
                let operand = self.text(found.expr.span().byte_range()).to_owned();
                self.add("negation left out", Form::Expression, whole, operand);
            }
            Expr::MethodCall(found) => {
                if let Some((operator, other)) = method(&found.method.to_string()) {
                    self.swap(operator, whole, found.method.span().byte_range(), other);
                }
            }
            Expr::Lit(found) if matches!(found.lit, Lit::Int(_)) => {
                let replacement = format!("{} + 1", self.text(whole.clone()));
                self.add("constant", Form::Expression, whole, replacement);
            }
            Expr::Path(found) if is_constant(&found.path) => {
                let replacement = format!("{} + 1", self.text(whole.clone()));
                self.add("constant", Form::Expression, whole, replacement);
            }
            _ => {}
        }
        visit::visit_expr(self, expression);
    }
}

/// Sites of an expression that stands in an attribute: the same finder, on a source that is blank around it, so that its
/// places stay.
fn of_expression(around: &Finder, span: Range<usize>) -> Result<Vec<Site>, String> {
    let blank =
        |text: &str| text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect::<String>();
    let source = around.source;
    let alone = format!("{}{}", blank(&source[..span.start]), &source[span]);
    let expression: Expr = syn::parse_str(&alone).map_err(|e| e.to_string())?;
    let function = around.function.clone();
    let mut finder = Finder { file: around.file, source, function, sites: vec![] };
    finder.visit_expr(&expression);
    Ok(finder.sites)
}

/// Whether a chain of conditions binds a name with `let`.
fn binds(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(found) => binds(&found.left) || binds(&found.right),
        _ => false,
    }
}

/// Whether the path ends in a name as constants have it.
fn is_constant(path: &syn::Path) -> bool {
    path.segments.last().is_some_and(|last| {
        let name = last.ident.to_string();
        name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    })
}
