/* Runs a graph in which one node is a function of the program's: cc graph.c -lsoma; ./a.out TEXT */
#include <soma/soma.h>
#include <stdio.h>
#include <stdlib.h>

static const char document[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"length\",\"kind\":\"function\",\"op\":\"length\"},"
    "{\"id\":\"gate\",\"kind\":\"branch\",\"op\":\"std.identity\"},"
    "{\"id\":\"short\",\"kind\":\"function\",\"op\":\"std.format\","
    "\"config\":{\"template\":\"{it} bytes are short\"}},"
    "{\"id\":\"long\",\"kind\":\"function\",\"op\":\"std.format\","
    "\"config\":{\"template\":\"{it} bytes are long\"}}],"
    "\"edges\":[{\"from\":\"length\",\"to\":\"gate\"},"
    "{\"from\":\"gate\",\"to\":\"short\",\"kind\":\"control\",\"arm\":\"it < 20\"},"
    "{\"from\":\"gate\",\"to\":\"long\",\"kind\":\"control\",\"arm\":\"else\"}]}";

/* A node's function: its user pointer is the runtime, in which its values are made. */
static int32_t length(void* runtime, soma_call* call) {
  soma_value* value = NULL;
  const size_t bytes = soma_value_size(soma_call_input(call));
  const int is_set = soma_value_of_int(runtime, (int64_t)bytes, &value, NULL) == SOMA_OK &&
                     soma_call_set_output(call, value, NULL) == SOMA_OK;
  soma_value_release(value);
  return is_set ? SOMA_CONTINUE : SOMA_STOP;
}

int main(int argc, char** argv) {
  soma_error* error = NULL;
  soma_runtime* runtime = NULL;
  soma_graph* graph = NULL;
  soma_plan* plan = NULL;
  soma_ops* ops = NULL;
  soma_run* run = NULL;
  soma_value *input = NULL, *value = NULL;
  soma_blob *tree = NULL, *json = NULL;
  const char* text = argc > 1 ? argv[1] : "a text";

  if (soma_runtime_create(SOMA_HEADER_ABI, NULL, &runtime, &error) == SOMA_OK &&
      soma_graph_parse(runtime, document, SOMA_NUL, &graph, &error) == SOMA_OK &&
      soma_plan_compile(graph, NULL, &plan, &error) == SOMA_OK &&
      soma_plan_show(plan, "tree", SOMA_NUL, &tree, &error) == SOMA_OK &&
      soma_ops_create(runtime, &ops, &error) == SOMA_OK &&
      soma_ops_add(ops, "length", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, length, runtime, NULL,
                   &error) == SOMA_OK &&
      soma_run_create(plan, ops, NULL, &run, &error) == SOMA_OK &&
      soma_value_of_text(runtime, text, SOMA_NUL, &input, &error) == SOMA_OK &&
      soma_run_execute(run, input, NULL, &value, &error) == SOMA_OK &&
      soma_value_json(value, &json, &error) == SOMA_OK) {
    printf("%s%s\n", (const char*)soma_blob_data(tree), (const char*)soma_blob_data(json));
  } else {
    fprintf(stderr, "%s [%s]\n", soma_error_message(error, NULL), soma_error_reason(error, NULL));
  }
  soma_blob_release(json), soma_blob_release(tree);
  soma_value_release(value), soma_value_release(input);
  soma_run_release(run), soma_ops_release(ops), soma_plan_release(plan);
  soma_graph_release(graph), soma_runtime_release(runtime);
  const int failed = error != NULL;
  soma_error_release(error);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
