"""Messages of other tools in protobuf: our `.proto` files and the code generated from them."""
