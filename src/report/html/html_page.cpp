// Puts the data where the template has its mark.
//
// Both kinds of data are base64, so nothing in a trace can end an element or begin one: there is nothing to escape. The
// template brings its own content security policy, which lets nothing run but the script whose hash it names, and
// nothing be fetched (docs/decisions/page.md).
#include "report/html/html_page.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "export/text_sink.h"
#include "report/html/fleet_data.h"
#include "report/html/page_columns.h"
#include "report/html/page_strings.h"
#include "report/html/page_template.h"
#include "report/json.h"

namespace stepscope {
namespace {

using Json = nlohmann::ordered_json;

// Long names stand in findings too.
void shorten_texts(Json& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (text.size() > kMostPageTextBytes) json = page_text(text);
  } else if (json.is_structured()) {
    for (Json& item : json) shorten_texts(item);
  }
}

// The page has whole tables of its own; those of --top N would only make pages differ.
void drop_tables(Json& json) {
  json.erase("tables");
  if (const auto ranks = json.find("ranks"); ranks != json.end()) {
    for (Json& report : *ranks) report.erase("tables");
  }
}

std::string block(const std::string& id, const std::string& data) {
  return fmt::format("<script type=\"application/octet-stream\" id=\"{}\">{}</script>\n", id, data);
}

std::string fill_template(const std::string& blocks) {
  constexpr std::string_view kMark = "<!--stepscope-data-->";
  const std::string_view page = page_template();
  const std::size_t at = page.find(kMark);
  if (at == std::string_view::npos) return "";  // a broken build: page_data_test says so
  return std::string(page.substr(0, at)) + blocks + std::string(page.substr(at + kMark.size()));
}

// A document as the page reads it.
std::string document_block(const std::string& id, const std::string& document) {
  Json json = Json::parse(document, nullptr, false);
  drop_tables(json);
  shorten_texts(json);
  return block(id, pack_for_page(json.dump()));
}

std::string recording_blocks(const std::vector<const Report*>& reports) {
  std::string blocks;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    blocks += block(fmt::format("stepscope-recording-{}", i), reports[i]->page_data);
    const std::string& memory = reports[i]->memory_page_data;
    if (!memory.empty()) blocks += block(fmt::format("stepscope-memory-{}", i), memory);
  }
  return blocks;
}

constexpr const char* kDocument = "stepscope-document";

}  // namespace

std::string write_html(const Report& report) {
  return fill_template(document_block(kDocument, write_json(report)) + recording_blocks({&report}));
}

std::string write_html(const RankReports& ranks) {
  std::vector<const Report*> reports;
  for (const Report& report : ranks.reports) reports.push_back(&report);
  std::string blocks = document_block(kDocument, write_json(ranks));
  if (ranks.difference) blocks += document_block("stepscope-difference", write_diff_json(*ranks.difference));
  if (ranks.fleet && !ranks.fleet->rank_steps.empty()) {
    blocks += block("stepscope-fleet", build_fleet_page_data(*ranks.fleet));
  }
  return fill_template(blocks + recording_blocks(reports));
}

std::string write_html(const MemoryReport& report, const std::string& data) {
  return fill_template(document_block(kDocument, write_memory_json(report)) + block("stepscope-memory-0", data));
}

std::string write_html(const DiffReport& report) {
  std::string blocks = document_block(kDocument, write_diff_json(report));
  if (!report.before_page.empty() && !report.after_page.empty()) {
    blocks += block("stepscope-recording-0", report.before_page) + block("stepscope-recording-1", report.after_page);
  }
  return fill_template(blocks);
}

Status write_html_file(const std::string& path, const std::string& html) {
  return write_text_file(path, [&](const TextSink& sink) { return sink(html); });
}

}  // namespace stepscope
