//! Tuple patterns in which arguments and bindings hide.

use crate::syntax::{attributes, is_for_tests};
use syn::visit::Visit;
use syn::{Expr, Item, Local, Pat, PatType};

/// Lines with such patterns.
#[derive(Default)]
pub struct Tuples {
    /// `fn f((a, b): (X, Y))`, of production code.
    pub parameters: Vec<usize>,
    /// `let (a, b) = (x, y);`, in production and test code.
    pub lets: Vec<usize>,
    in_tests: bool,
}

pub fn find(path: &str, text: &str) -> Tuples {
    let syntax = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let in_tests =
        path.ends_with("/tests.rs") || path.contains("tests/") || path.contains("benches/");
    let mut found = Tuples { in_tests, ..Tuples::default() };
    found.visit_file(&syntax);
    found
}

impl<'ast> Visit<'ast> for Tuples {
    fn visit_item(&mut self, item: &'ast Item) {
        let outer = self.in_tests;
        self.in_tests |= attributes(item).iter().any(is_for_tests);
        syn::visit::visit_item(self, item);
        self.in_tests = outer;
    }

    /// A parameter of a function, not of a closure: there it is the shape of an iterator's items.
    fn visit_fn_arg(&mut self, argument: &'ast syn::FnArg) {
        if let syn::FnArg::Typed(PatType { pat, .. }) = argument
            && let Pat::Tuple(tuple) = &**pat
            && !self.in_tests
        {
            self.parameters.push(tuple.paren_token.span.open().start().line);
        }
        syn::visit::visit_fn_arg(self, argument);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &typed.pat,
            pattern => pattern,
        };
        let value = local.init.as_ref().map(|init| &*init.expr);
        if let (Pat::Tuple(tuple), Some(Expr::Tuple(_))) = (pattern, value) {
            self.lets.push(tuple.paren_token.span.open().start().line);
        }
        syn::visit::visit_local(self, local);
    }
}

#[test]
fn tuple_patterns_are_found() {
    let text = "fn f(a: (A, B),\n (c, d): (C, D)) {\n let (a, b) = (c, d);\n let (a, b) = f();\n\
                iter.map(|(a, b)| a);\n}\n#[cfg(test)]\nmod tests {\n fn g((a, b): (A, B)) {\n\
                let (a, b): (u8, u8) = (1, 2);\n}\n}\nimpl X { fn h((a, b): (A, B)) {} }\n";
    let found = find("src/a.rs", text);
    assert_eq!((found.parameters, found.lets), (vec![2, 13], vec![3, 10]));
    assert_eq!(find("tests/a.rs", text).parameters, Vec::<usize>::new());
}
