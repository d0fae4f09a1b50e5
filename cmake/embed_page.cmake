# cmake -D INPUT=page.html -D OUTPUT=page_template.cpp -P embed_page.cmake
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(................................................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT}.new
"// Made from web/dist/page.html by cmake/embed_page.cmake.
#include \"report/html/page_template.h\"

namespace stepscope {
namespace {
constexpr unsigned char kPage[] = {
${bytes}};
}  // namespace

std::string_view page_template() { return {reinterpret_cast<const char*>(kPage), sizeof kPage}; }

}  // namespace stepscope
")
file(RENAME ${OUTPUT}.new ${OUTPUT})
