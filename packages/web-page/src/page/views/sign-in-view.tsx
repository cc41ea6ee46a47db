/** What a person sees whose token the server does not know. */
import { useSignal } from "@preact/signals";
import { signIn } from "../server/client.js";

export function SignInView() {
  const isSending = useSignal(false);
  return (
    <main class="view">
      <h1>Sign in</h1>
      <p>
        The server prints an address with a code when it starts. Open that address, or write the code here. A code works
        once.
      </p>
      <form
        class="fields"
        onSubmit={async (event) => {
          event.preventDefault();
          const code = String(new FormData(event.currentTarget).get("code") ?? "");
          isSending.value = true;
          await signIn(code.replace(/^.*#code=/, ""));
          isSending.value = false;
        }}
      >
        <label>
          Code
          <input name="code" autocomplete="off" spellcheck={false} required />
        </label>
        <button type="submit" class="main" disabled={isSending.value}>
          Sign in
        </button>
      </form>
    </main>
  );
}
