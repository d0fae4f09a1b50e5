// Prints what the rules find in each recording.
#include <cstdio>

#include "recorded/recorded_trace.h"
#include "rules/rules.h"
#include "rules/wording.h"

using namespace stepscope;

int main(int argc, char** argv) {
  for (int at = 1; at < argc; ++at) {
    const Trace& trace = recorded_trace(argv[at]);
    const Facts facts = compute_facts(trace, {});
    const RuleInput input{trace, facts};
    const auto findings = find_all(input);
    const auto up = facts.what_ifs.unprofiled_step();
    std::printf("== %s rec %s up %s [%s..%s] refused=%s err %.4f\n", argv[at], facts.steps.median_ns ? format_duration(*facts.steps.median_ns).c_str() : "-",
                up ? format_duration(up->mid_ns).c_str() : "-", up ? format_duration(up->low_ns).c_str() : "", up ? format_duration(up->high_ns).c_str() : "",
                facts.what_ifs.self_check.refused.value_or("no").c_str(), facts.what_ifs.self_check.replay_error_ratio);
    for (const WhatIf& w : facts.what_ifs.results)
      if (w.applies) std::printf("   wi %-26s saving %s [%s..%s]\n", std::string(transform_name(w.transform)).c_str(), format_duration(w.saving.mid_ns).c_str(), format_duration(w.saving.low_ns).c_str(), format_duration(w.saving.high_ns).c_str());
    std::printf("   VERDICT %s\n", write_verdict(input, findings).c_str());
    for (const Finding& f : findings) {
      std::printf("   [%s] %s %s (%s) %s\n", std::string(severity_name(f.severity)).c_str(), f.id.c_str(), f.saving ? format_duration(f.saving->mid_ns).c_str() : "-",
                  f.saving_ratio ? format_percent(*f.saving_ratio).c_str() : "-", f.title.c_str());
      for (const Evidence& e : f.evidence) std::printf("        . %s\n", e.text.c_str());
      if (!f.gain.empty()) std::printf("        > %s\n", f.gain.c_str());
    }
  }
}
