// One list of columns makes a table: the vectors, the row type, append, gather and a visitor.
//
// A column is declared once, in the COLUMNS list of its table's file, as COLUMN(type, name, "unit and when
// empty"). Everything else here follows from that list, so adding a column changes one source file. Columns
// instead of an array of structs because every analysis reads two or three of twenty columns, and the memory
// budget is half a byte for each byte of JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/id.h"

// NOLINTBEGIN(cppcoreguidelines-macro-usage,bugprone-macro-parentheses): a list of columns can only be walked by the
// preprocessor, and its arguments are declarators and member names, which take no parentheses.
#define STEPSCOPE_ROW_FIELD(type, name, doc) type name{};
#define STEPSCOPE_TABLE_COLUMN(type, name, doc) Column<Id, type> name;
#define STEPSCOPE_VISIT_COLUMN(type, name, doc) visit(std::string_view(#name), std::string_view(doc), name);
#define STEPSCOPE_ROW_FROM_COLUMN(type, name, doc) out.name = name[at];
#define STEPSCOPE_VISIT_MEMBER(type, name, doc) visit(&Self::name);
#define STEPSCOPE_PUSH_FIELD(type, name, doc) name.push_back(row.name);

#define STEPSCOPE_TABLE(TableName, IdType, COLUMNS)                                                 \
  struct TableName {                                                                                \
    using Id = IdType;                                                                              \
    struct Row {                                                                                    \
      COLUMNS(STEPSCOPE_ROW_FIELD)                                                                  \
    };                                                                                              \
    COLUMNS(STEPSCOPE_TABLE_COLUMN)                                                                 \
                                                                                                    \
    std::size_t size() const {                                                                      \
      std::size_t rows = 0;                                                                         \
      bool first = true;                                                                            \
      for_each_column([&](std::string_view, std::string_view, const auto& c) {                      \
        if (first) rows = c.size();                                                                 \
        first = false;                                                                              \
      });                                                                                           \
      return rows;                                                                                  \
    }                                                                                               \
    bool empty() const { return size() == 0; }                                                      \
    Id push_back(const Row& row) {                                                                  \
      const Id added(size());                                                                       \
      COLUMNS(STEPSCOPE_PUSH_FIELD)                                                                 \
      return added;                                                                                 \
    }                                                                                               \
    Row row(Id at) const {                                                                          \
      Row out;                                                                                      \
      COLUMNS(STEPSCOPE_ROW_FROM_COLUMN)                                                            \
      return out;                                                                                   \
    }                                                                                               \
    IdRange<Id> ids() const { return {0, static_cast<std::uint32_t>(size())}; }                     \
    /* visit(pointer to member) for each column, to walk several tables of the kind side by side */ \
    template <class Visit>                                                                          \
    static void for_each_member(Visit&& visit) {                                                    \
      using Self = TableName;                                                                       \
      COLUMNS(STEPSCOPE_VISIT_MEMBER)                                                               \
    }                                                                                               \
    /* visit(name, doc, column) for each column in the order of declaration */                      \
    template <class Visit>                                                                          \
    void for_each_column(Visit&& visit) {                                                           \
      COLUMNS(STEPSCOPE_VISIT_COLUMN)                                                               \
    }                                                                                               \
    template <class Visit>                                                                          \
    void for_each_column(Visit&& visit) const {                                                     \
      COLUMNS(STEPSCOPE_VISIT_COLUMN)                                                               \
    }                                                                                               \
  }
// NOLINTEND(cppcoreguidelines-macro-usage,bugprone-macro-parentheses)
