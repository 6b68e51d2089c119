/* A phase of fault.c: a run forwards and back, with a vjp of the host's. */
#ifndef FAULT_GRADIENT_H
#define FAULT_GRADIENT_H

/* What it reads is the gradient's factor. */
static int32_t scale(void* user, soma_call* call) {
  soma_error* error = NULL;
  soma_value* made = NULL;
  int64_t read = 0, factor = 0;
  const soma_value *input = soma_call_input(call), *gradient = soma_call_gradient(call);
  (void)user;
  of_node = input && gradient ? SOMA_OK : SOMA_RESOURCE_EXHAUSTED;
  if (of_node == SOMA_OK) of_node = soma_value_int(input, &read, &error);
  if (of_node == SOMA_OK) of_node = soma_value_int(gradient, &factor, &error);
  if (of_node == SOMA_OK) of_node = soma_value_of_int(runtime, read * factor, &made, &error);
  if (of_node == SOMA_OK) of_node = soma_call_set_output(call, made, &error);
  soma_value_release(made);
  soma_error_release(error);
  return of_node == SOMA_OK ? SOMA_CONTINUE : SOMA_STOP;
}

static int32_t hand_on(void* user, soma_call* call) {
  const soma_value* input = soma_call_input(call);
  (void)user;
  of_node = input ? soma_call_set_output(call, input, NULL) : SOMA_RESOURCE_EXHAUSTED;
  return of_node == SOMA_OK ? SOMA_CONTINUE : SOMA_STOP;
}

static const char scaled[] =
    "{\"soma\":\"graph\",\"version\":1,\"nodes\":["
    "{\"id\":\"a\",\"kind\":\"function\",\"op\":\"scale\",\"differentiable\":true},"
    "{\"id\":\"b\",\"kind\":\"function\",\"op\":\"scale\",\"differentiable\":true},"
    "{\"id\":\"c\",\"kind\":\"function\",\"op\":\"std.sum\",\"differentiable\":true}],\"edges\":["
    "{\"from\":\"a\",\"to\":\"b\"},{\"from\":\"a\",\"to\":\"c\"},{\"from\":\"b\",\"to\":\"c\"}]}";

static soma_code compile_scaled(soma_plan** out, soma_error** error) {
  soma_graph* graph = NULL;
  soma_options* settings = NULL;
  soma_code code = soma_graph_parse(runtime, scaled, SOMA_NUL, &graph, error);
  if (code == SOMA_OK) code = soma_options_create("compile", SOMA_NUL, &settings, error);
  if (code == SOMA_OK) {
    code = soma_options_set_text(settings, "mode", SOMA_NUL, "differentiable", SOMA_NUL, error);
  }
  if (code == SOMA_OK) code = soma_plan_compile(graph, settings, out, error);
  soma_graph_release(graph);
  soma_options_release(settings);
  return code;
}

/* Forwards and back. */
static soma_code trace_gradient(soma_error** error) {
  soma_plan* made = NULL;
  soma_ops* ops = NULL;
  soma_run* traced = NULL;
  soma_value *seven = NULL, *sum = NULL, *gradient = NULL;
  int64_t slope = 0;
  soma_code code = compile_scaled(&made, error);
  of_node = SOMA_OK;
  if (code == SOMA_OK) code = soma_ops_create(runtime, &ops, error);
  if (code == SOMA_OK) {
    code = soma_ops_add(ops, "scale", SOMA_NUL, 0, SOMA_THREAD_ANY, 0, hand_on, NULL, NULL, error);
  }
  if (code == SOMA_OK) {
    ++added;
    code = soma_ops_add_vjp(ops, "scale", SOMA_NUL, 0, scale, NULL, count_destroy, error);
  }
  if (code == SOMA_OK) code = soma_run_create(made, ops, NULL, &traced, error);
  if (code == SOMA_OK) code = soma_value_of_int(runtime, 7, &seven, error);
  if (code == SOMA_OK) code = soma_run_execute(traced, seven, NULL, &sum, error);
  if (code == SOMA_OK) code = soma_run_backward(traced, seven, NULL, &gradient, error);
  if (code == SOMA_OK) code = soma_value_int(gradient, &slope, error);
  if (code == SOMA_OK) CHECK(slope == 7 * (7 + 7 * 7)); /* 7, by c to a and b, and by b to a */
  if (code == SOMA_ABORTED && of_node != SOMA_OK) code = of_node;
  soma_plan_release(made);
  soma_ops_release(ops);
  soma_run_release(traced);
  soma_value_release(seven);
  soma_value_release(sum);
  soma_value_release(gradient);
  CHECK(destroyed == added - 1); /* but for the other run's function */
  return code;
}

#endif
