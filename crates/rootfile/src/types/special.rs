//! Classes whose streamers are written by hand in ROOT, which streamer infos do not describe.

use crate::array::Number;

/// How the objects of such a class are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Object,
    List,
    ObjArray,
    Ordered,
    ClonesArray,
    Map,
    Ref,
    RefArray,
    Datime,
    /// `TString` or `std::string` in place of a class.
    Text,
    Array(Number),
    /// `TMatrixTSym`: half of its numbers.
    SymmetricMatrix(Number),
    /// `TExMap`: pairs of numbers, and where in its table they are.
    NumberMap,
    /// `RooLinkedList`.
    RooList,
    /// `TTreeIndex`: arrays whose length is given once.
    TreeIndex,
    Basket,
    /// `TBranchClones`: the members that are not in the branch of its counts.
    BranchClones,
    /// Nothing at all.
    Nothing,
}

impl Special {
    /// Name of the member that holds a collection's objects.
    pub(crate) const ITEMS: &str = "items";
    /// The only member of a record that is a collection of the standard library: no C++ name.
    pub(crate) const ELEMENTS: &str = "(elements)";

    pub(crate) const ALL: &[(&str, Special)] = &[
        ("TObject", Special::Object),
        // Their version is 0: the bytes are those of the base class.
        ("TSortedList", Special::List),
        ("TOrdCollection", Special::Ordered),
        ("THashTable", Special::Ordered),
        ("TList", Special::List),
        ("THashList", Special::List),
        ("TObjArray", Special::ObjArray),
        ("TClonesArray", Special::ClonesArray),
        ("TMap", Special::Map),
        ("TRef", Special::Ref),
        ("TRefArray", Special::RefArray),
        ("TDatime", Special::Datime),
        ("TString", Special::Text),
        ("string", Special::Text),
        ("std::string", Special::Text),
        ("TArrayC", Special::Array(Number::I8)),
        ("TArrayS", Special::Array(Number::I16)),
        ("TArrayI", Special::Array(Number::I32)),
        ("TArrayL", Special::Array(Number::I64)),
        ("TArrayL64", Special::Array(Number::I64)),
        ("TArrayF", Special::Array(Number::F32)),
        ("TArrayD", Special::Array(Number::F64)),
        ("TMatrixTSym<double>", Special::SymmetricMatrix(Number::F64)),
        ("TMatrixTSym<float>", Special::SymmetricMatrix(Number::F32)),
        ("TTreeIndex", Special::TreeIndex),
        ("TExMap", Special::NumberMap),
        ("RooLinkedList", Special::RooList),
        ("TBasket", Special::Basket),
        ("TBranchClones", Special::BranchClones),
        ("TQObject", Special::Nothing),
    ];

    /// How objects of a class are read, where its streamer is written by hand.
    pub(crate) fn of(class: &str) -> Option<Special> {
        Special::ALL.iter().find(|(name, _)| *name == class).map(|(_, special)| *special)
    }

    /// Names of an object's values, in the order in which they are read.
    pub(crate) fn members(self) -> &'static [&'static str] {
        match self {
            Special::Object => &["fUniqueID", "fBits"],
            Special::List => &["fName", Special::ITEMS, "options"],
            Special::ObjArray => &["fName", "fLowerBound", Special::ITEMS],
            Special::ClonesArray => &["fName", "fClass", "fLowerBound", Special::ITEMS],
            Special::Map | Special::Ordered => &["fName", Special::ITEMS],
            Special::NumberMap => &["fSize", Special::ITEMS],
            Special::RooList => &["_name", Special::ITEMS],
            Special::Ref => &["fUniqueID", "fBits", "process"],
            Special::RefArray => &["fName", "fLowerBound", "process", "fUIDs"],
            Special::Datime => &["fDatime"],
            Special::Text => &["text"],
            Special::Array(_) => &["fArray"],
            Special::SymmetricMatrix(_) => &[
                "fNrows",
                "fNcols",
                "fRowLwb",
                "fColLwb",
                "fNelems",
                "fNrowIndex",
                "fTol",
                "fElements",
            ],
            Special::TreeIndex => {
                &["fMajorName", "fMinorName", "fIndexValues", "fIndexValuesMinor", "fIndex"]
            }
            Special::Basket => &["bytes"],
            Special::BranchClones => {
                &["fName", "fTitle", "fBranchCount", "fClassName", "fBranches"]
            }
            Special::Nothing => &[],
        }
    }

    /// Whether a version (and a byte count) is in front, as for most classes.
    pub(crate) fn has_header(self) -> bool {
        match self {
            Special::List
            | Special::ObjArray
            | Special::Ordered
            | Special::ClonesArray
            | Special::Map
            | Special::NumberMap
            | Special::RooList
            | Special::RefArray
            | Special::BranchClones
            | Special::TreeIndex => true,
            Special::Object
            | Special::Ref
            | Special::Datime
            | Special::Text
            | Special::Array(_)
            | Special::SymmetricMatrix(_)
            | Special::Basket
            | Special::Nothing => false,
        }
    }
}
