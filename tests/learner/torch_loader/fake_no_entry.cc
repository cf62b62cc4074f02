// A shared object that is no plugin at all.
extern "C" int something_else() { return 1; }
