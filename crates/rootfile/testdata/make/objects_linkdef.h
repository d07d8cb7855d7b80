#pragma link C++ struct Inner+;
#pragma link C++ class Part+;
#pragma link C++ class Event+;
#pragma link C++ class std::vector<Inner>+;
#pragma link C++ class std::vector<std::vector<Inner>>+;
#pragma link C++ class std::vector<Part>+;
#pragma link C++ class std::vector<TVector2>+;
#pragma link C++ class std::vector<std::vector<short>>+;
