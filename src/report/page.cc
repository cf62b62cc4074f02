#include "report/page.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "report/parts.h"
#include "report/words.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

// Escapes text for a page or an attribute.
std::string escaped(std::string_view text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&': html += "&amp;"; break;
      case '<': html += "&lt;"; break;
      case '>': html += "&gt;"; break;
      case '"': html += "&quot;"; break;
      case '\'': html += "&#39;"; break;
      default: html += c;
    }
  }
  return html;
}

// No markup may begin inside a <script>.
std::string in_script(const Json& json) {
  const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;
  for (const char c : text) safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

// ---- Data of the charts

Json list_of(const std::vector<CurvePoint>& curve) {
  Json list = Json::array();
  for (const CurvePoint& p : curve)
    list.push_back(Json{{"t", p.time_s},
                        {"e", p.epochs},
                        {"b", p.bytes},
                        {"v", p.value},
                        {"l", p.low},
                        {"h", p.high}});
  return list;
}

Json object_of(const Excerpt& excerpt) {
  Json object;
  object["rows"] = excerpt.rows;
  object["bars"] = Json::array();
  for (const ExcerptBar& bar : excerpt.bars)
    object["bars"].push_back(Json{{"row", bar.row},
                                  {"kind", bar.kind},
                                  {"name", bar.name},
                                  {"begin", bar.begin_s},
                                  {"end", bar.end_s}});
  return object;
}

Json data_of(const Comparison& comparison) {
  Json data;
  data["accuracy"] = comparison.by_accuracy;
  data["contestants"] = Json::array();
  for (const Contestant& c : comparison.contestants) {
    Json one;
    one["label"] = c.label;
    one["runs"] = c.runs.size();
    one["loss"] = list_of(c.loss);
    one["score"] = list_of(c.score);
    one["disagreement"] = list_of(c.disagreement);
    one["staleness"] = c.staleness_shares;
    one["time"] = Json{{"compute", c.time.compute},
                       {"overlap", c.time.overlap},
                       {"wait", c.time.wait},
                       {"update", c.time.update},
                       {"rest", c.time.rest}};
    one["timeline"] = object_of(c.excerpt);
    data["contestants"].push_back(std::move(one));
  }
  return data;
}

// ---- Parts that need no script

std::string table_html(const Comparison& c) {
  const std::vector<TableColumn> columns = table_of(c);
  std::string html = "<table><thead><tr>";
  for (const TableColumn& column : columns)
    html += fmt::format("<th title=\"{}\">{}</th>", escaped(column.help), escaped(column.name));
  html += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < c.contestants.size(); ++i) {
    html += "<tr>";
    for (const TableColumn& column : columns) {
      const bool best = std::ranges::find(column.best, i) != column.best.end();
      const std::string dot =
          &column == columns.data()
              ? fmt::format("<span class=\"dot\" style=\"background:var(--c{})\"></span>", i % 8)
              : "";
      html += fmt::format("<td{}>{}{}</td>", best ? " class=\"best\"" : "", dot,
                          escaped(column.cells[i]));
    }
    html += "</tr>";
  }
  return html + "</tbody></table>";
}

std::string recipe_text(const Summary& s) {
  std::string text;
  for (const auto& [axis, choice] : s.recipe)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis, choice);
  return text;
}

std::string runs_html(const Comparison& c) {
  std::string html =
      "<table class=\"words\"><thead><tr><th>system</th><th>seed</th><th>folder</th><th>recipe</th>"
      "</tr></thead><tbody>";
  for (const Contestant& one : c.contestants)
    for (const FinishedRun* run : one.runs)
      html += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td><details><summary>axes</summary>{}</details>"
          "</td></tr>",
          escaped(one.label), run->summary.seed.value(), escaped(run->folder),
          escaped(recipe_text(run->summary)));
  return html + "</tbody></table>";
}

std::string facts_of(const Comparison& c) {
  const Summary& s = c.contestants.front().summary();
  return fmt::format("{} {}; {} workers with batches of {}; {}", c.contestants.size(),
                     c.contestants.size() == 1 ? "contestant" : "contestants", s.workers, s.batch,
                     s.world == "sim" ? "simulated" : "live");
}

std::string paragraphs(const std::vector<std::string>& lines, std::string_view begin,
                       std::string_view end) {
  std::string html;
  for (const std::string& line : lines) html += fmt::format("{}{}{}", begin, escaped(line), end);
  return html;
}

std::string filled(std::string_view page,
                   const std::function<std::string_view(std::string_view)>& part) {
  std::string text;
  while (true) {
    const std::size_t at = page.find("{{");
    text += page.substr(0, at);
    if (at == std::string_view::npos) return text;
    const std::size_t end = page.find("}}", at);
    SHOAL_CHECK(end != std::string_view::npos, "a part of the page has no end");
    text += part(page.substr(at + 2, end - at - 2));
    page.remove_prefix(end + 2);
  }
}

}  // namespace

std::string page_of(const Comparison& c) {
  const std::string notes = paragraphs(c.notes, "<li>", "</li>");
  const std::map<std::string_view, std::string> made = {
      {"title", escaped(c.title)},
      {"facts", escaped(facts_of(c))},
      {"verdict", paragraphs(verdict_of(c), "<p>", "</p>")},
      {"notes", notes.empty() ? "" : fmt::format("<ul class=\"notes\">{}</ul>", notes)},
      {"table", table_html(c)},
      {"runs", runs_html(c)},
      {"data", in_script(data_of(c))},
  };
  return filled(parts::kHtml, [&](std::string_view name) -> std::string_view {
    if (name == "style") return parts::kCss;
    if (name == "chart") return parts::kChartJs;
    if (name == "script") return parts::kJs;
    const auto it = made.find(name);
    SHOAL_CHECK(it != made.end(), "the page asks for {}, which is not there", name);
    return it->second;
  });
}

}  // namespace shoal
