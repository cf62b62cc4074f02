#include "transport/ucx/ucx_info.h"

#include <ucp/api/ucp.h>
#include <uct/api/uct.h>

#include <memory>
#include <set>
#include <span>

namespace shoal {
namespace {

using Transports = std::set<std::string>;

// The transports of one memory domain (one device or mechanism, such as "tcp" or "mlx5_0").
void add_transports(uct_component_h component, const char* domain_name, Transports& found) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return;
  const std::unique_ptr<uct_md_config_t, decltype(&uct_config_release)> config_owner(
      config, [](void* c) { uct_config_release(c); });

  uct_md_h domain = nullptr;
  if (uct_md_open(component, domain_name, config, &domain) != UCS_OK) return;
  uct_tl_resource_desc_t* list = nullptr;
  unsigned count = 0;
  if (uct_md_query_tl_resources(domain, &list, &count) == UCS_OK) {
    for (const auto& resource : std::span(list, count)) found.insert(resource.tl_name);
    uct_release_tl_resource_list(list);
  }
  uct_md_close(domain);
}

void add_component(uct_component_h component, Transports& found) {
  uct_component_attr_t attributes{};
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  if (uct_component_query(component, &attributes) != UCS_OK) return;

  // The second query fills our array, whose length comes from the first.
  std::vector<uct_md_resource_desc_t> domains(attributes.md_resource_count);
  attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attributes.md_resources = domains.data();
  if (uct_component_query(component, &attributes) != UCS_OK) return;
  for (const auto& domain : domains) add_transports(component, domain.md_name, found);
}

}  // namespace

// Asks the transport layer (UCT): the protocol layer above it has no such query in UCX 1.13.
UcxInfo ucx_info() {
  Transports found;
  uct_component_h* components = nullptr;
  unsigned count = 0;
  if (uct_query_components(&components, &count) == UCS_OK) {
    for (auto* component : std::span(components, count)) add_component(component, found);
    uct_release_component_list(components);
  }
  return {.built_in = true,
          .version = ucp_get_version_string(),
          .transports = {found.begin(), found.end()}};
}

}  // namespace shoal
