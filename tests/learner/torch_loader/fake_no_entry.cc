// A shared object that is not a plugin.
extern "C" int something_else() { return 1; }
