/* Opens a model, answers a prompt, streams the text: cc generate.c -lsoma; ./a.out FILE TEXT */
#include <soma/soma.h>
#include <stdio.h>

static int32_t on_token(void* user, int32_t token, const char* text, size_t length) {
  (void)user, (void)token;
  fwrite(text, 1, length, stdout);
  return fflush(stdout) == 0 ? SOMA_CONTINUE : SOMA_STOP;
}

int main(int argc, char** argv) {
  soma_error* error = NULL;
  soma_runtime* runtime = NULL;
  soma_model* model = NULL;
  soma_session* session = NULL;
  soma_sequence* sequence = NULL;
  soma_blob *prompt = NULL, *result = NULL;
  const char *role = "user", *text = argc > 2 ? argv[2] : "Why is the sky blue?";

  if (argc < 2) return fprintf(stderr, "usage: %s MODEL.gguf [PROMPT]\n", argv[0]), 2;
  if (soma_runtime_create(SOMA_HEADER_ABI, NULL, &runtime, &error) == SOMA_OK &&
      soma_model_open(runtime, argv[1], SOMA_NUL, NULL, NULL, &model, &error) == SOMA_OK &&
      soma_session_create(model, NULL, NULL, &session, &error) == SOMA_OK &&
      soma_sequence_create(session, &sequence, &error) == SOMA_OK &&
      soma_model_chat_tokens(model, &role, NULL, &text, NULL, 1, &prompt, &error) == SOMA_OK &&
      soma_sequence_generate(sequence, soma_blob_data(prompt), soma_blob_size(prompt) / 4, NULL,
                             on_token, NULL, NULL, NULL, &result, &error) == SOMA_OK) {
    printf("\n%s\n", (const char*)soma_blob_data(result));
  } else {
    fprintf(stderr, "%s [%s]\n", soma_error_message(error, NULL), soma_error_reason(error, NULL));
  }
  soma_blob_release(result), soma_blob_release(prompt);
  soma_sequence_release(sequence), soma_session_release(session);
  soma_model_release(model), soma_runtime_release(runtime);
  const int failed = error != NULL;
  soma_error_release(error);
  return failed;
}
