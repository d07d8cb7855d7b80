"""Classes and branches made up from a seed, as C++ that ROOT compiles.

`source` gives the code for some seeds: for each a handful of classes and a function
``seeded_N(path, options)``, which writes ``path.root`` and, beside it, the filled values as lines
of JSON. Members whose name begins with ``*`` there are pointers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .seed import Seed

NUMBERS = (
    *("bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int"),
    *("unsigned int", "long", "unsigned long", "Long64_t", "ULong64_t", "float", "double"),
    *("int8_t", "uint16_t", "int64_t", "size_t"),
)
KEYS = ("int", "short", "unsigned char", "Long64_t", "std::string", "float")
ROOT_CLASSES = ("TVector3", "TVector2", "TLorentzVector", "TDatime", "TTimeStamp", "TObjString")
#: Letters of leaf lists, and their types.
LEAVES = {
    **{"O": "bool", "B": "char", "b": "unsigned char", "S": "short", "s": "unsigned short"},
    **{"I": "int", "i": "unsigned int", "L": "Long64_t", "l": "ULong64_t", "F": "float"},
    **{"D": "double", "G": "long", "g": "unsigned long"},
}


@dataclass
class Class:
    """One class, with the code that fills its members and the code that prints them."""

    name: str
    bases: list[str] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    fills: list[str] = field(default_factory=list)
    tells: list[str] = field(default_factory=list)
    version: int | None = None
    is_object: bool = False
    is_virtual: bool = False
    copyable: bool = True
    #: Where it is a template, whose argument is the type `Item`; the name is that of an instance.
    template: str = ""
    namespace: str = ""

    def code(self) -> str:
        """The class, in its namespace."""
        code = self.bare_code()
        return f"namespace {self.namespace} {{\n{code}}}\n" if self.namespace else code

    def bare_code(self) -> str:
        bases = ", ".join(f"public {base}" for base in self.bases)
        name = self.name.split("<")[0].split("::")[-1]
        head = f"class {name}{' : ' if bases else ''}{bases} {{\npublic:\n"
        head = f"template <class Item> {head}" if self.template else head
        members = "".join(f"  {member}\n" for member in self.members)
        fills = "".join(f"    {each}\n" for each in self.fills)
        tells = "".join(f"    {each}\n" for each in self.tells)
        tail = f"  ClassDef({name}, {self.version})\n" if self.version is not None else ""
        if self.is_virtual and self.version is None and not self.is_object:
            tail += f"  virtual ~{name}() {{}}\n  {name}() = default;\n"
            if self.copyable:
                tail += f"  {name}(const {name} &) = default;\n"
                tail += f"  {name} &operator=(const {name} &) = default;\n"
        return (
            f"{head}{members}  void fill_seeded(seeded::Random &random) {{\n{fills}  }}\n"
            f"  void tell_seeded(seeded::Tuple &to) const {{\n{tells}  }}\n{tail}}};\n"
        )


class Generator(Seed):
    """The classes of one seed."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.classes: list[Class] = []
        self.links: list[str] = []

    def number(self) -> str:
        return self.random.choice(NUMBERS)

    def known(self, wanted: Callable[[Class], bool] = lambda _: True) -> Class | None:
        found = [each for each in self.classes if each.copyable and wanted(each)]
        return self.random.choice(found) if found else None

    def item(self, depth: int) -> str:
        """The type of a collection's items."""
        kind = self.random.random()
        if kind < 0.35 or depth > 3:
            return self.number()
        if kind < 0.45:
            return self.random.choice(("std::string", "std::string", "TString"))
        if kind < 0.65:
            cls = self.known()
            return cls.name if cls else self.random.choice(("TVector3", "TLorentzVector"))
        if kind < 0.76:
            return f"std::pair<{self.number()},{self.item(depth + 1)}>"
        if kind < 0.79:
            return f"std::array<{self.number()},{self.random.randint(1, 3)}>"
        return self.collection(depth + 1)

    def collection(self, depth: int = 0) -> str:
        """A collection of the standard library, for which there will be a dictionary."""
        made = self.any_collection(depth)
        self.links.append(made)
        return made

    def any_collection(self, depth: int) -> str:
        kind = self.random.choice(
            ("vector",) * 6
            + ("list", "deque", "set", "multiset", "unordered_set", "unordered_multiset")
            + ("map", "map", "multimap", "unordered_map", "unordered_multimap", "RVec")
            + ("bitset", "forward_list", "pointers")
        )
        if kind == "bitset":
            return f"std::bitset<{self.random.choice((1, 7, 8, 9, 16, 33, 64, 70))}>"
        if kind in ("set", "multiset", "unordered_set", "unordered_multiset"):
            return f"std::{kind}<{self.random.choice(KEYS)}>"
        if kind in ("map", "multimap", "unordered_map", "unordered_multimap"):
            return f"std::{kind}<{self.random.choice(KEYS)},{self.item(depth)}>"
        if kind == "RVec":
            return f"ROOT::RVec<{self.random.choice([n for n in NUMBERS if n != 'bool'])}>"
        if kind == "pointers":
            cls = self.known(lambda each: each.version is not None)
            return f"std::vector<{cls.name}*>" if cls else "std::vector<float>"
        if kind == "vector" and self.chance(0.05):
            return f"std::vector<Colour{self.seed}>"
        made = f"std::{kind}<{self.item(depth)}>"
        return "std::list<float>" if made == "std::list<double>" else made

    def add_member(self, cls: Class, *, whole: bool) -> None:
        """Adds a member; `whole` where objects of the class are never copied."""
        kinds: list[Callable[[Class, str], None]] = [
            *(self.plain,) * 6,
            *(self.collected,) * 7,
            *(self.fixed,) * 2,
            *(self.reduced,) * 2,
            *(self.counted,) * 2,
            self.object,
            self.widened,
            self.characters,
            self.pointer,
            self.transient,
        ]
        if whole:
            kinds += [self.containers, self.unique, self.pointed_collection, self.looped, self.held]
            kinds += [self.reference, self.pointed_text, self.containers]
        self.random.choice(kinds)(cls, self.fresh("m"))

    def declare(
        self, cls: Class, name: str, type_name: str, after: str = "", key: str = ""
    ) -> None:
        cls.members.append(f"{type_name} {name}{after};")
        cls.fills.append(f"seeded::fill({name}, random);")
        cls.tells.append(f'to.key("{key or name}"); seeded::tell({name}, to.out);')

    def plain(self, cls: Class, name: str) -> None:
        types = (*NUMBERS, "std::string", "TString", f"Colour{self.seed}", f"Small{self.seed}")
        self.declare(cls, name, self.random.choice(types))

    def collected(self, cls: Class, name: str) -> None:
        kind = self.random.random()
        if kind < 0.8:
            type_name = self.collection()
        elif kind < 0.86:
            type_name = f"std::pair<{self.item(1)},{self.item(1)}>"
        elif kind < 0.90:
            type_name = f"std::tuple<{self.number()},{self.number()},std::string>"
        elif kind < 0.95:
            type_name = f"std::array<{self.number()},{self.random.randint(1, 4)}>"
        else:
            type_name = f"std::complex<{self.random.choice(('float', 'double'))}>"
        self.declare(cls, name, type_name)

    def fixed(self, cls: Class, name: str) -> None:
        shape = self.random.choice(("[1]", "[2]", "[3]", "[2][2]", "[2][1][3]"))
        types = [*NUMBERS, *NUMBERS]
        if shape != "[1]":
            types += ["std::string", "TString", "std::vector<short>"]
        other = self.known()
        if other:
            types += [other.name] * 6
        self.declare(cls, name, self.random.choice(types), shape)

    def reduced(self, cls: Class, name: str) -> None:
        target = self.random.choice(("Double32_t", "Float16_t"))
        length = self.random.choice(("", "", "[3]", "[2][2]"))
        low, high, bits = self.random.choice(((0, 64, 16), (-8, 8, 8), (0, 1, 20), (0, 128, 2)))
        spelled, fill = self.random.choice(
            (
                (
                    f"//[{low},{high},{bits}]",
                    f"seeded::fill_steps(%s, {low}, {high}, {bits}, random);",
                ),
                (
                    f"//[{low}, {high}, {bits}] with a range",
                    f"seeded::fill_steps(%s, {low}, {high}, {bits}, random);",
                ),
                ("//[0,0,10]", "seeded::fill_short(%s, random);"),
                ("", "seeded::fill_short(%s, random);"),
                ("// of no range", "seeded::fill_short(%s, random);"),
            )
        )
        if self.chance(0.3) and not length:
            count = self.fresh("n")
            cls.members += [
                f"int {count} = 0;",
                f"{target} *{name} = nullptr; //[{count}]{spelled[2:]}",
            ]
            cls.fills.append(f"{count} = random.length(); {name} = new {target}[{count}];")
            cls.fills.append(f"for (int i = 0; i < {count}; i++) " + fill % f"{name}[i]")
            cls.tells.append(f'to.key("{count}"); seeded::tell({count}, to.out);')
            cls.tells.append(f'to.key("{name}"); seeded::tell_counted({name}, {count}, to.out);')
            return
        cls.members.append(f"{target} {name}{length}; {spelled}")
        item = f"(({target} *)&{name})[i]"
        cls.fills.append(
            f"for (size_t i = 0; i < sizeof {name} / sizeof({target}); i++) " + fill % item
        )
        cls.tells.append(f'to.key("{name}"); seeded::tell({name}, to.out);')

    def counted(self, cls: Class, name: str) -> None:
        count = self.fresh("n")
        type_name = self.random.choice(NUMBERS)
        cls.members += [f"int {count} = 0;", f"{type_name} *{name} = nullptr; //[{count}]"]
        cls.fills.append(
            f"{count} = random.length(); seeded::fill_counted({name}, {count}, random);"
        )
        cls.tells.append(f'to.key("{count}"); seeded::tell({count}, to.out);')
        cls.tells.append(f'to.key("{name}"); seeded::tell_counted({name}, {count}, to.out);')

    def widened(self, cls: Class, name: str) -> None:
        type_name = "std::list<Double32_t>"
        cls.members.append(f"{type_name} {name};")
        cls.fills.append(f"{name}.resize(random.length());")
        cls.fills.append(f"for (auto &each : {name}) seeded::fill_short(each, random);")
        cls.tells.append(f'to.key("{name}"); seeded::tell({name}, to.out);')

    def looped(self, cls: Class, name: str) -> None:
        other = self.known(lambda each: each.version is not None)
        if other is None:
            return
        count, stars, what = self.fresh("n"), "*", "counted"
        if self.chance(0.4):
            stars, what = "**", "pointers"
        cls.members += [f"int {count} = 0;", f"{other.name} {stars}{name} = nullptr; //[{count}]"]
        cls.fills.append(
            f"{count} = random.length(); seeded::fill_{what}({name}, {count}, random);"
        )
        cls.tells.append(f'to.key("{count}"); seeded::tell({count}, to.out);')
        cls.tells.append(f'to.key("{name}"); seeded::tell_{what}({name}, {count}, to.out);')

    def object(self, cls: Class, name: str) -> None:
        other = self.known()
        names = [*ROOT_CLASSES, "TNamed", "TArrayI", "TArrayD"]
        chosen = other.name if other and self.chance(0.7) else self.random.choice(names)
        self.declare(cls, name, chosen)

    def characters(self, cls: Class, name: str) -> None:
        cls.members.append(f"char *{name} = nullptr;")
        cls.fills.append(f"{name} = strdup(seeded::any_text(random).c_str());")
        cls.tells.append(f'to.key("{name}"); seeded::tell_text({name}, strlen({name}), to.out);')

    def pointer(self, cls: Class, name: str) -> None:
        other = self.known(lambda each: each.version is not None)
        if other is None:
            return
        cls.members.append(f"{other.name} *{name} = nullptr;")
        cls.fills.append(f"{name} = nullptr;")
        cls.fills.append(
            f"if (random.below(3)) {{ {name} = new {other.name}; seeded::fill(*{name}, random); }}"
        )
        cls.tells.append(
            f'to.key("*{name}"); if ({name}) seeded::tell(*{name}, to.out); else to.out += "null";'
        )

    def held(self, cls: Class, name: str) -> None:
        other = self.known(lambda each: each.version is not None)
        if other is None:
            return
        cls.members.append(f"{other.name} *{name} = new {other.name}; //->")
        cls.fills.append(f"seeded::fill(*{name}, random);")
        cls.tells.append(f'to.key("*{name}"); seeded::tell(*{name}, to.out);')

    def unique(self, cls: Class, name: str) -> None:
        other = self.known(lambda each: each.version is not None)
        if other is None:
            return
        cls.copyable = False
        self.declare(cls, name, f"std::unique_ptr<{other.name}>", key=f"*{name}")

    def pointed_collection(self, cls: Class, name: str) -> None:
        type_name = f"std::vector<{self.number()}>"
        cls.members.append(f"{type_name} *{name} = new {type_name};")
        cls.fills.append(f"seeded::fill(*{name}, random);")
        cls.tells.append(f'to.key("*{name}"); seeded::tell(*{name}, to.out);')

    def pointed_text(self, cls: Class, name: str) -> None:
        type_name = self.random.choice(
            ("TString", "TObjString", "TNamed", "TVector3", "std::string")
        )
        cls.members.append(f"{type_name} *{name} = new {type_name};")
        cls.fills.append(f"seeded::fill(*{name}, random);")
        cls.tells.append(f'to.key("*{name}"); seeded::tell(*{name}, to.out);')

    def reference(self, cls: Class, name: str) -> None:
        """To an object of a container, whose bits and number then say so."""
        arrays = [line.split("(")[1].split(",")[0] for line in cls.fills if "fill_clones" in line]
        if not arrays:
            return
        array = self.random.choice(arrays).lstrip("*")
        at = f"seeded::array_of({array})"
        if self.chance(0.5):
            cls.members.append(f"TRef {name};")
            cls.fills.append(f"{name} = {at}.GetEntriesFast() ? {at}.At(0) : nullptr;")
            cls.tells.append(f'to.key("{name}"); seeded::tell({name}, to.out);')
        else:
            cls.members.append(f"TRefArray {name};")
            cls.fills.append(f"{name}.Clear(); for (auto each : {at}) {name}.Add(each);")
            cls.tells.append(f'to.key("{name}"); seeded::tell({name}, to.out);')

    def containers(self, cls: Class, name: str) -> None:
        other = self.known(lambda each: each.is_object and each.version is not None)
        if other is None:
            return
        if self.chance(0.5):
            stars = self.chance(0.5)
            new = f' = new TClonesArray("{other.name}")' if stars else f'{{"{other.name}"}}'
            cls.members.append(f"TClonesArray {'*' if stars else ''}{name}{new};")
            array = f"*{name}" if stars else name
            cls.fills.append(f"seeded::fill_clones<{other.name}>({array}, random);")
            key = f"*{name}" if stars else name
        else:
            cls.members.append(f"TObjArray {name};")
            cls.fills.append(f"seeded::fill_objects<{other.name}>({name}, random);")
            array, key = name, name
        cls.tells.append(f'to.key("{key}"); seeded::tell_objects<{other.name}>({array}, to.out);')
        cls.copyable = False

    def transient(self, cls: Class, name: str) -> None:
        cls.members.append(f"{self.number()} {name} = 0; //! not in files")

    def add_class(self, *, whole: bool = False) -> Class:
        cls = Class(f"S{self.seed}C{len(self.classes)}")
        if self.chance(0.2):
            cls.namespace = f"space{self.seed}"
            cls.name = f"{cls.namespace}::{cls.name}"
        if self.chance(0.75):
            cls.version = self.random.randint(1, 9)
        cls.is_virtual = cls.version is not None or self.chance(0.2)
        base = self.known(lambda each: not each.is_object)
        kind = self.random.random()
        if kind < 0.25:
            cls.bases, cls.is_object = ["TObject"], True
        elif kind < 0.32:
            cls.bases, cls.is_object = ["TNamed"], True
            cls.fills.append("seeded::Value<TNamed>::fill(*this, random);")
            cls.tells.append("seeded::Value<TNamed>::members(*this, to);")
        elif kind < 0.6 and self.known():
            first = self.known()
            assert first is not None
            cls.bases, cls.is_object = [first.name], first.is_object
            beside = base is not None and not {*self.ancestors(base)} & {*self.ancestors(first)}
            if base and beside and self.chance(0.4):
                cls.bases.append(base.name)
            for name in cls.bases:
                cls.fills.append(f"{name}::fill_seeded(random);")
                cls.tells.append(f"{name}::tell_seeded(to);")
        if cls.is_object and cls.version is None:
            cls.version = 1
        if not whole and not cls.bases and self.chance(0.25):
            # A template, of which there is one instance.
            cls.version = None
            cls.is_virtual = False
            cls.template = self.item(2)
            cls.name += f"<{cls.template}>"
            self.links.append(cls.name)
            self.declare(cls, self.fresh("m"), "Item")
            self.declare(cls, self.fresh("m"), "std::vector<Item>")
        for _ in range(self.random.randint(1, 6 if not whole else 16)):
            self.add_member(cls, whole=whole)
        self.classes.append(cls)
        return cls

    def ancestors(self, cls: Class) -> list[str]:
        by_name = {each.name: each for each in self.classes}
        found = [cls.name]
        for base in cls.bases:
            found += self.ancestors(by_name[base]) if base in by_name else [base]
        return found

    def code(self) -> str:
        for _ in range(self.random.randint(3, 6)):
            self.add_class()
        event = self.add_class(whole=True)
        event.copyable = False
        body = self.branches(event)
        classes = "\n".join(each.code() for each in self.classes)
        links = "".join(f"#pragma link C++ class {name}+;\n" for name in dict.fromkeys(self.links))
        return (
            f"enum Colour{self.seed} {{ kRuby{self.seed}, kJade{self.seed}, kOnyx{self.seed} }};\n"
            f"enum class Small{self.seed} : unsigned char {{ kOne, kTwo, kThree }};\n"
            f"{classes}\n#ifdef __CLING__\n{links}#endif\n"
            f"void seeded_{self.seed}(const char *path, const seeded::Options &options) {{\n"
            f"  seeded::Writer writer(path, options, {self.seed});\n"
            f"  auto &random = writer.random;\n{body}  writer.end();\n}}\n"
        )

    def branches(self, event: Class) -> str:
        """Declares the branches, then fills and tells them entry by entry."""
        declare, fill, tell = [], [], []

        def branch(name: str, type_name: str) -> None:
            variable = name.rstrip(".")
            declare.append(f"auto {variable} = new {type_name};")
            declare.append(
                f'writer.tree->Branch("{name}", &{variable}, options.basket, options.split);'
            )
            fill.append(f"seeded::fill(*{variable}, random);")
            tell.append(f'to.key("{name}"); seeded::tell(*{variable}, out);')

        branch(self.random.choice(("event", "event.", "event.")), event.name)
        for _ in range(3):
            type_name = self.collection()
            if not type_name.startswith("std::bitset") and "array" not in type_name:
                branch(self.fresh("top"), type_name)
        cls = self.known()
        if cls:
            self.links.append(f"std::vector<{cls.name}>")
            branch(self.fresh("objects"), f"std::vector<{cls.name}>")
        cls = self.known(lambda each: each.version is not None)
        if cls and self.chance(0.5):
            self.links.append(f"std::vector<{cls.name}*>")
            branch(self.fresh("pointers"), f"std::vector<{cls.name}*>")
        cls = self.known(lambda each: each.is_object)
        if cls:
            name = self.fresh("clones")
            declare.append(f'auto {name} = new TClonesArray("{cls.name}");')
            declare.append(
                f'writer.tree->Branch("{name}", &{name}, options.basket, options.split);'
            )
            fill.append(f"seeded::fill_clones<{cls.name}>(*{name}, random);")
            tell.append(f'to.key("{name}"); seeded::tell_objects<{cls.name}>(*{name}, out);')
        self.leaf_lists(declare, fill, tell)
        lines = [*declare, "for (int entry = 0; entry < options.entries; entry++) {", *fill]
        lines += ["seeded::Out out;", "{ seeded::Tuple to(out, '{');", *tell, "out += '}'; }"]
        return "".join(f"  {line}\n" for line in [*lines, "writer.entry(out);", "}"])

    def leaf_lists(self, declare: list[str], fill: list[str], tell: list[str]) -> None:
        # Of one size each, the largest first, so that nothing is in between.
        sizes = {
            "D": 8,
            "L": 8,
            "l": 8,
            "F": 4,
            "I": 4,
            "i": 4,
            "S": 2,
            "s": 2,
            "B": 1,
            "b": 1,
            "O": 1,
        }
        letters = sorted(
            self.random.choices(list(sizes), k=self.random.randint(1, 5)), key=lambda x: -sizes[x]
        )
        leaves = [
            (self.fresh("l"), letter, self.random.choice(("", "", "[2]", "[2][3]")))
            for letter in letters
        ]
        members = " ".join(f"{LEAVES[letter]} {name}{shape};" for name, letter, shape in leaves)
        titles = ":".join(f"{name}{shape}/{letter}" for name, letter, shape in leaves)
        name = self.fresh("leaves")
        declare.append(f"struct {{ {members} }} {name};")
        declare.append(f'writer.tree->Branch("{name}", &{name}, "{titles}", options.basket);')
        fill += [f"seeded::fill({name}.{leaf}, random);" for leaf, _, _ in leaves]
        told = "".join(
            f'of.key("{leaf}"); seeded::tell({name}.{leaf}, out);' for leaf, _, _ in leaves
        )
        tell.append(f"to.key(\"{name}\"); {{ seeded::Tuple of(out, '{{'); {told} out += '}}'; }}")
        # Arrays of variable dimension.
        count, letter = self.fresh("n"), self.random.choice(list(LEAVES))
        counter = self.random.choice("IIISBi")
        inner = self.random.choice(("", "", "[2]", "[2][2]"))
        name = self.fresh("x")
        declare.append(f"{LEAVES[counter]} {count}; {LEAVES[letter]} {name}[8]{inner};")
        declare.append(
            f'writer.tree->Branch("{count}", &{count}, "{count}/{counter}", options.basket);'
        )
        declare.append(
            f'writer.tree->Branch("{name}", {name}, "{name}[{count}]{inner}/{letter}",'
            " options.basket);"
        )
        fill.append(f"{count} = random.length(); seeded::fill({name}, random);")
        tell.append(f'to.key("{count}"); seeded::tell({count}, out);')
        tell.append(f'to.key("{name}"); seeded::tell_counted({name}, {count}, out);')
        name = self.fresh("text")
        declare.append(f"char {name}[400];")
        declare.append(f'writer.tree->Branch("{name}", {name}, "{name}/C", options.basket);')
        fill.append(f"strcpy({name}, seeded::any_text(random).c_str());")
        tell.append(f'to.key("{name}"); seeded::tell_text({name}, strlen({name}), out);')


def source(seeds: list[int]) -> str:
    """Code for some seeds, behind the header that it needs."""
    return '#include "seeded.h"\n' + "\n".join(Generator(seed).code() for seed in seeds)
