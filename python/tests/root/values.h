// What ROOT has read into the object of a branch, as JSON: found by ROOT's own streamer
// information, since most classes of the corpus have no dictionary here.
#include <cstring>
#include <string>
#include <vector>

#include <TBranchElement.h>
#include <TBufferJSON.h>
#include <TClass.h>
#include <TClonesArray.h>
#include <TDataType.h>
#include <TError.h>
#include <TObject.h>
#include <TROOT.h>
#include <TStreamerElement.h>
#include <TStreamerInfo.h>
#include <TString.h>
#include <TVirtualCollectionProxy.h>

namespace values {

using Path = std::vector<std::string>;

std::string errors;

void note(int level, bool abort, const char *where, const char *what) {
  if (level >= kError && errors.size() < 1000)
    errors += std::string(where) + ": " + what + "; ";
  if (abort)
    std::abort();
}

std::string fail(const std::string &why) {
  errors += why + "; ";
  return "null";
}

std::string quoted(const char *text, size_t length) {
  std::string out = "\"";
  for (size_t i = 0; i < length; i++) {
    unsigned char c = text[i];
    if (c < 0x20 || c == '"' || c == '\\' || c > 0x7e)
      out += Form("\\u%04x", c);
    else
      out += c;
  }
  return out + "\"";
}

std::string floating(double value, const char *format) {
  return std::isfinite(value) ? Form(format, value) : quoted(Form("%f", value), strlen(Form("%f", value)));
}

// A number of a basic type (the codes of streamer elements).
std::string number(const void *at, int type) {
  switch (type) {
  case TVirtualStreamerInfo::kBool: return *(const bool *)at ? "true" : "false";
  case TVirtualStreamerInfo::kChar: return std::to_string(*(const signed char *)at);
  case TVirtualStreamerInfo::kUChar: return std::to_string(*(const unsigned char *)at);
  case TVirtualStreamerInfo::kShort: return std::to_string(*(const short *)at);
  case TVirtualStreamerInfo::kUShort: return std::to_string(*(const unsigned short *)at);
  case TVirtualStreamerInfo::kCounter:
  case TVirtualStreamerInfo::kInt: return std::to_string(*(const int *)at);
  case TVirtualStreamerInfo::kBits:
  case TVirtualStreamerInfo::kUInt: return std::to_string(*(const unsigned *)at);
  case TVirtualStreamerInfo::kLong:
  case TVirtualStreamerInfo::kLong64: return std::to_string(*(const long long *)at);
  case TVirtualStreamerInfo::kULong:
  case TVirtualStreamerInfo::kULong64: return std::to_string(*(const unsigned long long *)at);
  case TVirtualStreamerInfo::kFloat16:
  case TVirtualStreamerInfo::kFloat: return floating(*(const float *)at, "%.9g");
  case TVirtualStreamerInfo::kDouble32:
  case TVirtualStreamerInfo::kDouble: return floating(*(const double *)at, "%.17g");
  }
  return fail(Form("numbers of type %d", type));
}

int size_of(int type) {
  if (type == TVirtualStreamerInfo::kDouble32)
    return sizeof(double);
  if (type == TVirtualStreamerInfo::kFloat16)
    return sizeof(float);
  auto known = gROOT->GetType(TDataType::GetTypeName(EDataType(type)));
  return type == TVirtualStreamerInfo::kCounter || type == TVirtualStreamerInfo::kBits ? 4 : known->Size();
}

std::string object(void *at, TClass *of, const Path &path, size_t depth);

std::string numbers(char *at, int type, int count) {
  std::string out = "[";
  for (int i = 0; i < count; i++)
    out += (i ? "," : "") + number(at + i * size_of(type), type);
  return out + "]";
}

std::string collection(void *at, TVirtualCollectionProxy *proxy, const Path &path, size_t depth) {
  TVirtualCollectionProxy::TPushPop pushed(proxy, at);
  auto of = proxy->GetValueClass();
  std::string out = "[";
  for (unsigned i = 0, n = proxy->Size(); i < n; i++) {
    out += i ? "," : "";
    void *item = proxy->At(i);
    if (of && proxy->HasPointers())
      item = *(void **)item;
    out += !item ? "null" : of ? object(item, of, path, depth) : number(item, proxy->GetType());
  }
  return out + "]";
}

std::string clones(TClonesArray *array, const Path &path, size_t depth) {
  std::string out = "[";
  for (int i = 0; i < array->GetEntriesFast(); i++)
    out += (i ? "," : "") + object(array->UncheckedAt(i), array->GetClass(), path, depth);
  return out + "]";
}

std::string member(char *at, TStreamerElement *element, const Path &path, size_t depth) {
  int type = element->GetType(), length = element->GetArrayLength();
  char *place = at + element->GetOffset();
  auto of = element->GetClassPointer();
  if (type > 0 && type < TVirtualStreamerInfo::kOffsetL && type != TVirtualStreamerInfo::kCharStar)
    return number(place, type);
  if (type > TVirtualStreamerInfo::kOffsetL && type < TVirtualStreamerInfo::kOffsetP)
    return numbers(place, type - TVirtualStreamerInfo::kOffsetL, length);
  if (type > TVirtualStreamerInfo::kOffsetP && type < TVirtualStreamerInfo::kObject) {
    int count = *(int *)(at + ((TStreamerBasicPointer *)element)->GetMethod());
    return numbers(*(char **)place, type - TVirtualStreamerInfo::kOffsetP, count);
  }
  if (!of)
    return fail(Form("members of type %d", type));
  bool pointer = element->IsaPointer();
  int each = pointer ? sizeof(void *) : of->Size();
  std::string out;
  for (int i = 0; i < std::max(length, 1); i++) {
    void *item = pointer ? *(void **)(place + i * each) : place + i * each;
    out += (i ? "," : "") + (item ? object(item, of, path, depth) : std::string("null"));
  }
  return length ? "[" + out + "]" : out;
}

// The bits of an emulated object, which has no table of virtual functions.
std::string bits(char *at) {
  auto of = TObject::Class();
  return Form("\"@fUniqueID\":%u,\"@fBits\":%u", *(unsigned *)(at + of->GetDataMemberOffset("fUniqueID")),
              *(unsigned *)(at + of->GetDataMemberOffset("fBits")));
}

std::string members(char *at, TClass *of);

// The member that a path leads to; nothing where there is none.
std::string follow(char *at, TClass *of, const Path &path, size_t depth) {
  auto all = of->GetStreamerInfo()->GetElements();
  for (int i = 0; i < all->GetEntriesFast(); i++) {
    auto element = (TStreamerElement *)all->At(i);
    if (path[depth] != element->GetName())
      continue;
    if (element->IsBase() && depth + 1 == path.size())
      return "{" + members(at + element->GetOffset(), element->GetClassPointer()) + "}";
    if (element->IsBase())
      return follow(at + element->GetOffset(), element->GetClassPointer(), path, depth + 1);
    return member(at, element, path, depth + 1);
  }
  for (int i = 0; i < all->GetEntriesFast(); i++) {
    auto element = (TStreamerElement *)all->At(i);
    if (!element->IsBase() || !element->GetClassPointer())
      continue;
    auto found = follow(at + element->GetOffset(), element->GetClassPointer(), path, depth);
    if (!found.empty())
      return found;
  }
  return "";
}

// The members of an object, those of its base classes first, without the braces.
std::string members(char *at, TClass *of) {
  if (of == TObject::Class())
    return bits(at);
  std::string out;
  auto all = of->GetStreamerInfo()->GetElements();
  for (int i = 0; i < all->GetEntriesFast(); i++) {
    auto element = (TStreamerElement *)all->At(i);
    auto base = element->GetClassPointer();
    std::string next;
    if (element->IsBase() && base && base->GetCollectionProxy())
      next = "\"@" + std::string(base->GetName()) + "\":" + object(at + element->GetOffset(), base, {}, 0);
    else if (element->IsBase())
      next = base ? members(at + element->GetOffset(), base) : fail("a base without a class");
    else
      next = "\"" + std::string(element->GetName()) + "\":" + member(at, element, {}, 0);
    out += (out.empty() || next.empty() ? "" : ",") + next;
  }
  return out;
}

std::string object(void *at, TClass *of, const Path &path, size_t depth) {
  if (of == TString::Class())
    return quoted(((TString *)at)->Data(), ((TString *)at)->Length());
  if (!strcmp(of->GetName(), "string"))
    return quoted(((std::string *)at)->data(), ((std::string *)at)->size());
  if (auto proxy = of->GetCollectionProxy())
    return collection(at, proxy, path, depth);
  if (of == TClonesArray::Class())
    return clones((TClonesArray *)at, path, depth);
  if (depth < path.size()) {
    auto found = follow((char *)at, of, path, depth);
    return found.empty() ? fail("no member " + path[depth] + " in " + of->GetName()) : found;
  }
  if (of != TObject::Class() && of->IsLoaded() && of->HasInterpreterInfo())
    return TBufferJSON::ConvertToJSON(at, of, TBufferJSON::kNoSpaces + TBufferJSON::kStoreInfNaN).Data();
  return "{" + members((char *)at, of) + "}";
}

// The branch whose object holds what a branch fills.
TBranchElement *holder(TBranchElement *branch) {
  auto type = branch->GetType();
  if (type == 31 || type == 41)
    return branch->GetBranchCount();
  return dynamic_cast<TBranchElement *>(branch->GetMother());
}

std::string entry(TBranchElement *branch, long long number, const Path &path) {
  // Lengths of arrays in the objects of a collection have a branch of their own.
  if (auto lengths = branch->GetBranchCount2())
    lengths->GetEntry(number);
  if (branch->GetEntry(number) < 0)
    return fail("a negative length");
  auto from = holder(branch);
  if (!from || !from->GetObject())
    return fail("no object");
  if (from->GetType() == 3)
    return clones((TClonesArray *)from->GetObject(), path, 0);
  if (from->GetType() == 4)
    return collection(from->GetObject(), from->GetCollectionProxy(), path, 0);
  auto of = TClass::GetClass(from->GetClassName());
  return of ? object(from->GetObject(), of, path, 0) : fail("no class");
}

} // namespace values
