// Well-known networks at full size, described only by sizes and work of their layers, from which
// phantoms (phantom.h) are made. Every number follows from the shapes of the architecture.
//
//   alexnet       Krizhevsky et al. 2012, two groups          227 x 227 images
//   vgg-a         Simonyan and Zisserman 2014, 11 layers      224 x 224
//   googlenet     Szegedy et al. 2014, without side outputs   224 x 224
//   resnet-50     He et al. 2015                              224 x 224
//   resnet-152    He et al. 2015                              224 x 224
//   densenet-121  Huang et al. 2016                           224 x 224
//   gpt2-small    Radford et al. 2019                         1024 tokens a sample
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace shoal {

struct LayerSize {
  std::string name;
  Elements parameters;
  double flops = 0;  // forward, per sample; a multiplication and its addition are two
};

std::vector<std::string> architecture_names();
// In forward order. Throws ConfigError with the nearest name.
std::vector<LayerSize> architecture(std::string_view name);

}  // namespace shoal
