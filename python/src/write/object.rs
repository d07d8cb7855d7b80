//! Objects that are no tables, from Python's description of them.

use std::sync::Arc;

use engine::writable::{
    self as objects, Axis, AxisStyle, Graph, GraphErrors, Histogram, ListKind, ObjString,
    ObjectList, Options, Style,
};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::array::Array;
use super::file::refused;
use crate::error::exception;
use crate::file::File;
use crate::runtime::{engine, invalid, wait};

/// An object that can be put into a file.
#[pyclass(frozen, module = "farroot._core")]
pub struct WritableObject {
    object: Arc<dyn engine::WritableObject>,
}

impl WritableObject {
    pub fn object(&self) -> Arc<dyn engine::WritableObject> {
        self.object.clone()
    }
}

/// An object of another file, as it is there.
#[pyclass(frozen, module = "farroot._core")]
pub struct CopiedObject {
    object: engine::CopiedObject,
}

#[pymethods]
impl CopiedObject {
    /// The object of a class at a position of the record at a path.
    #[staticmethod]
    fn of(
        py: Python<'_>,
        source: &File,
        path: &str,
        position: usize,
        class: &str,
    ) -> PyResult<Self> {
        let source = source.inner(py)?;
        let copied = wait(py, &engine(py)?, engine::copied(source, path))?;
        let object = copied.map_err(|error| exception(py, &error))?;
        let object = match position {
            0 => object,
            _ => object.part(position, class).map_err(|error| refused(py, &error))?,
        };
        Ok(CopiedObject { object })
    }

    /// The same under another name.
    fn named(&self, name: &str) -> WritableObject {
        WritableObject { object: Arc::new(self.object.clone().named(name)) }
    }
}

/// An axis: name, title, bins, both ends, edges, labels and their bins, how it is drawn.
type AxisTuple<'py> = (
    String,
    String,
    u32,
    f64,
    f64,
    Bound<'py, PyArray1<f64>>,
    Vec<String>,
    Vec<u32>,
    Bound<'py, PyDict>,
);

/// The members of a profile beside those of a histogram: sums of weights, of their squares, the
/// kind of its errors, and the range of values that it takes.
type ProfileTuple<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, i32, (f64, f64));

#[pymethods]
impl WritableObject {
    /// A `TObjString`.
    #[staticmethod]
    fn text(text: String) -> Self {
        WritableObject { object: Arc::new(ObjString(text)) }
    }

    /// A `TList`.
    #[staticmethod]
    fn list(name: String, items: Vec<PyRef<'_, WritableObject>>) -> Self {
        let items = items.iter().map(|item| item.object()).collect();
        WritableObject { object: Arc::new(ObjectList { name, kind: ListKind::List, items }) }
    }

    /// A `TH1`, `TH2` or `TH3` of the type of the cells, or a profile; `sums` in ROOT's order, or
    /// none; of the axes so many are its own; `drawn` has the other members.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "the members of a histogram, by position")]
    fn histogram(
        py: Python<'_>,
        name: &str,
        title: String,
        axes: (Vec<AxisTuple<'_>>, usize),
        cells: &Array,
        squares: &Bound<'_, PyArray1<f64>>,
        entries: f64,
        sums: Vec<f64>,
        profile: Option<ProfileTuple<'_>>,
        limits: (f64, f64),
        drawn: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let engine::Array::Numbers { numbers, .. } = &*cells.array() else {
            return Err(invalid(py, "the cells of a histogram are numbers"));
        };
        let (axes, dimensions) = axes;
        let mut axes = axes.into_iter().map(axis).collect::<PyResult<Vec<Axis>>>()?;
        let beyond = axes.split_off(dimensions.min(axes.len()));
        let mut histogram = Histogram::new(name, axes, numbers.clone());
        histogram.beyond = beyond;
        histogram.options = options(drawn)?;
        histogram.style = style(drawn, Style::HISTOGRAM)?;
        histogram.title = title;
        histogram.sum_w2 = vec(squares);
        histogram.entries = entries;
        histogram.statistics = sums;
        (histogram.minimum, histogram.maximum) = limits;
        histogram.profile = profile.map(|(entries, sum_w2, error_mode, taken)| objects::Profile {
            entries: vec(&entries),
            sum_w2: vec(&sum_w2),
            error_mode,
            low: taken.0,
            high: taken.1,
        });
        let object = histogram.into_object().map_err(|error| refused(py, &error))?;
        Ok(WritableObject { object })
    }

    /// A `TGraph`; with two or four arrays of errors, one that has these.
    #[staticmethod]
    fn graph(
        py: Python<'_>,
        name: &str,
        title: String,
        points: [Bound<'_, PyArray1<f64>>; 2],
        errors: Vec<Bound<'_, PyArray1<f64>>>,
        limits: (f64, f64),
        drawn: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let [x, y] = points;
        let mut graph = Graph::new(name, vec(&x), vec(&y));
        graph.title = title;
        (graph.minimum, graph.maximum) = limits;
        graph.style = style(drawn, graph.style)?;
        graph.bits = member(drawn, "fBits", graph.bits)?;
        graph.option = member(drawn, "fOption", graph.option)?;
        graph.errors = match &errors[..] {
            [] => GraphErrors::None,
            [x, y] => GraphErrors::Symmetric { x: vec(x), y: vec(y) },
            [x_low, x_high, y_low, y_high] => GraphErrors::Asymmetric {
                x_low: vec(x_low),
                x_high: vec(x_high),
                y_low: vec(y_low),
                y_high: vec(y_high),
            },
            _ => return Err(invalid(py, "errors of a graph are two arrays, or four")),
        };
        let object = graph.into_object().map_err(|error| refused(py, &error))?;
        Ok(WritableObject { object })
    }
}

/// A member by ROOT's name, or its default.
fn member<'py, T: FromPyObjectOwned<'py>>(
    members: &Bound<'py, PyDict>,
    name: &str,
    otherwise: T,
) -> PyResult<T> {
    match members.get_item(name)? {
        Some(value) => value.extract().map_err(Into::into),
        None => Ok(otherwise),
    }
}

fn axis(axis: AxisTuple<'_>) -> PyResult<Axis> {
    let (name, title, bins, low, high, edges, labels, labelled, drawn) = axis;
    let like = AxisStyle::of(&name);
    let style = AxisStyle {
        divisions: member(&drawn, "fNdivisions", like.divisions)?,
        axis_color: member(&drawn, "fAxisColor", like.axis_color)?,
        label_color: member(&drawn, "fLabelColor", like.label_color)?,
        label_font: member(&drawn, "fLabelFont", like.label_font)?,
        label_offset: member(&drawn, "fLabelOffset", like.label_offset)?,
        label_size: member(&drawn, "fLabelSize", like.label_size)?,
        tick_length: member(&drawn, "fTickLength", like.tick_length)?,
        title_offset: member(&drawn, "fTitleOffset", like.title_offset)?,
        title_size: member(&drawn, "fTitleSize", like.title_size)?,
        title_color: member(&drawn, "fTitleColor", like.title_color)?,
        title_font: member(&drawn, "fTitleFont", like.title_font)?,
        first: member(&drawn, "fFirst", like.first)?,
        last: member(&drawn, "fLast", like.last)?,
        bits: member(&drawn, "fBits", like.bits)?,
        bits2: member(&drawn, "fBits2", like.bits2)?,
        time_display: member(&drawn, "fTimeDisplay", like.time_display)?,
        time_format: member(&drawn, "fTimeFormat", like.time_format)?,
    };
    let edges = vec(&edges);
    Ok(Axis { title, bins, low, high, edges, labels, labelled, style: Some(style) })
}

fn options(drawn: &Bound<'_, PyDict>) -> PyResult<Options> {
    let like = Options::default();
    Ok(Options {
        bits: member(drawn, "fBits", like.bits)?,
        bar_offset: member(drawn, "fBarOffset", like.bar_offset)?,
        bar_width: member(drawn, "fBarWidth", like.bar_width)?,
        norm_factor: member(drawn, "fNormFactor", like.norm_factor)?,
        contours: member(drawn, "fContour", like.contours)?,
        option: member(drawn, "fOption", like.option)?,
        error_option: member(drawn, "fBinStatErrOpt", like.error_option)?,
        overflows: member(drawn, "fStatOverflows", like.overflows)?,
    })
}

fn style(drawn: &Bound<'_, PyDict>, like: Style) -> PyResult<Style> {
    Ok(Style {
        line_color: member(drawn, "fLineColor", like.line_color)?,
        line_style: member(drawn, "fLineStyle", like.line_style)?,
        line_width: member(drawn, "fLineWidth", like.line_width)?,
        fill_color: member(drawn, "fFillColor", like.fill_color)?,
        fill_style: member(drawn, "fFillStyle", like.fill_style)?,
        marker_color: member(drawn, "fMarkerColor", like.marker_color)?,
        marker_style: member(drawn, "fMarkerStyle", like.marker_style)?,
        marker_size: member(drawn, "fMarkerSize", like.marker_size)?,
    })
}

fn vec(array: &Bound<'_, PyArray1<f64>>) -> Vec<f64> {
    array.readonly().as_array().to_vec()
}
