#include "encoded/encode_settings.h"

namespace shoal {

Setting encode_setting(Encode& encode, std::string_view help) {
  Setting row;
  row.name = "encode";
  row.help = help;
  row.choices = encoding_texts([](const EncodingExamples& e) { return e.usual; });
  row.text = [&encode] { return encode_text(encode); };
  row.set = [&encode](std::string_view text) { parse_encode(text, encode); };
  return row;
}

Setting encoded_by_setting(Encode& encode) {
  Setting row;
  row.name = "encoded-by";
  row.help = "algorithm that sums encoded gradients, or differences of models";
  for (std::size_t i = 0; i < kEncodedForms; ++i)
    row.choices.emplace_back(to_string(static_cast<EncodedForm>(i)));
  row.text = [&encode] { return std::string(to_string(encode.by)); };
  row.set = [&encode](std::string_view text) { encode.by = parse_encoded_form(text); };
  return row;
}

Setting encode_after_setting(Encode& encode) {
  return value_setting("encode-after", encode.after, "epochs at the beginning without encoding",
                       {});
}

}  // namespace shoal
