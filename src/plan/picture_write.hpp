// What the writers of SVG and HTML share.
#pragma once

#include "plan/node_facts.hpp"
#include "plan/picture.hpp"
#include "plan/picture_layout.hpp"

namespace soma {

inline constexpr u32 picture_fact_max = 400;  // characters of what a node says about one thing

// A line for each fact.
std::string facts_text(const Plan& plan, u32 node);
// With links, what stands for a node leads to #n and its number.
std::string svg_of(const Plan& plan, const PictureLayout& layout, bool has_links);

}  // namespace soma
