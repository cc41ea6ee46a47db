/** Written by scripts/update-facts.mjs; do not edit. */

/** The day the lists were made. */
export const factsDate = "2026-11-17";

/**
 * By provider, newest first: name, context window, most output, flags, then dollars per million: input, output, cache read, cache
 * write. Flags: v sees pictures; thinks by a (itself), b (a budget), l (a level), e (an effort); r is served at /responses.
 */
export const factRows = {
  anthropic: `claude-haiku-5-5 1000000 128000 va 0.1 0.5 0.01 0.125
claude-opus-5-5 1000000 128000 va 4 20 0.2 5
claude-sonnet-5-5 1000000 128000 va 2 10 0.1 2.5
claude-fable-5-1 1000000 128000 va 10 50 0.25 12.5
claude-fable-5 1000000 128000 va 10 50 1 12.5
claude-opus-5 1000000 128000 va 5 25 0.5 6.25
claude-sonnet-5 1000000 128000 va 2 10 0.2 2.5
claude-opus-4-8 1000000 128000 va 5 25 0.5 6.25
claude-opus-4-7 1000000 128000 va 5 25 0.5 6.25
claude-opus-4-6 1000000 128000 va 5 25 0.5 6.25
claude-sonnet-4-6 1000000 128000 va 3 15 0.3 3.75
claude-haiku-4-5 200000 64000 vb 1 5 0.1 1.25
claude-opus-4-5 200000 64000 vb 5 25 0.5 6.25
claude-sonnet-4-5 200000 64000 vb 3 15 0.3 3.75
claude-opus-4-1 200000 32000 vb 15 75 1.5 18.75
claude-opus-4 200000 32000 vb 15 75 1.5 18.75
claude-sonnet-4 200000 64000 vb 3 15 0.3 3.75
claude-3-7-sonnet 200000 64000 vb 3 15 0.3 3.75
claude-3-5-haiku 200000 8192 v 0.8 4 0.08 1
claude-3-5-sonnet 200000 8192 v 3 15 0.3 3.75
claude-3-haiku 200000 4096 v 0.25 1.25 0.03 0.3
claude-3-opus 200000 4096 v 15 75 1.5 18.75
claude-3-sonnet 200000 4096 v 3 15 0.3 0.3`,
  openai: `gpt-6.1-sol 922000 128000 ver 2 10 0.1 2.5
gpt-6.1-sol-pro 922000 128000 ver 2 10 0.1 2.5
gpt-6.1-terra 922000 128000 ver 1 5 0.05 1.25
gpt-6.1-terra-pro 922000 128000 ver 1 5 0.05 1.25
gpt-6-astra 922000 128000 ver 10 50 1 12.5
gpt-6-astra-pro 922000 128000 ver 10 50 1 12.5
gpt-6-luna 922000 128000 ver 0.1 0.5 0.01 0.125
gpt-6-luna-pro 922000 128000 ver 0.1 0.5 0.01 0.125
gpt-6-sol 922000 128000 ver 2 10 0.2 2.5
gpt-6-sol-pro 922000 128000 ver 2 10 0.2 2.5
gpt-5.6-cyber 272000 128000 ver 12.5 75 1.25 15.625
gpt-5.6-luna 922000 128000 ver 0.2 1.2 0.02 0.25
gpt-5.6-luna-pro 922000 128000 ver 0.2 1.2 0.02 0.25
gpt-5.6-sol 922000 128000 ver 4 20 0.4 5
gpt-5.6-sol-pro 922000 128000 ver 4 20 0.4 5
gpt-5.6-terra 922000 128000 ver 2 12 0.2 2.5
gpt-5.6-terra-pro 922000 128000 ver 2 12 0.2 2.5
gpt-5.5 922000 128000 ver 5 30 0.5 5
gpt-5.5-pro 922000 128000 ver 30 180 30 30
gpt-5.4 922000 128000 ver 2.5 15 0.25 2.5
gpt-5.4-mini 272000 128000 ver 0.75 4.5 0.075 0.75
gpt-5.4-nano 272000 128000 ver 0.2 1.25 0.02 0.2
gpt-5.4-pro 922000 128000 ver 30 180 30 30
gpt-5.3-codex 272000 128000 ver 1.75 14 0.175 1.75
gpt-5.3-codex-spark 128000 32000 ver 1.75 14 0.175 1.75
gpt-5.2 272000 128000 ver 1.75 14 0.175 1.75
gpt-5.2-chat 128000 32000 v 1.75 14 0.175 1.75
gpt-5.2-codex 272000 128000 ver 1.75 14 0.175 1.75
gpt-5.2-pro 272000 128000 ver 21 168 21 21
gpt-5.1 272000 128000 ver 1.25 10 0.125 1.25
gpt-5.1-codex 272000 128000 ver 1.25 10 0.13 1.25
gpt-5.1-codex-max 272000 128000 ver 1.25 10 0.125 1.25
gpt-5.1-codex-mini 272000 128000 ver 0.25 2 0.03 0.25
gpt-5 272000 128000 ver 1.25 10 0.125 1.25
gpt-5-chat 128000 16384 v 1.25 10 0.125 1.25
gpt-5-codex 272000 128000 ver 1.25 10 0.13 1.25
gpt-5-mini 272000 128000 ver 0.25 2 0.025 0.25
gpt-5-nano 272000 128000 ver 0.05 0.4 0.005 0.05
gpt-5-pro 272000 128000 ver 15 120 15 15
gpt-4.1 1047576 32768 v 2 8 0.5 2
gpt-4.1-mini 1047576 32768 v 0.4 1.6 0.1 0.4
gpt-4.1-nano 1047576 32768 v 0.1 0.4 0.025 0.1
gpt-4 8192  - 30 60 30 30
gpt-4-turbo 128000 4096 v 10 30 10 10
gpt-4o 128000 16384 v 2.5 10 1.25 2.5
gpt-4o-2024-05-13 128000 4096 v 5 15 5 5
gpt-4o-mini 128000 16384 v 0.15 0.6 0.075 0.15
o4-mini 200000 100000 ver 1.1 4.4 0.275 1.1
gpt-3.5-turbo 4095  - 1 2 1 1
gpt-3.5-turbo-16k 16385 4096 - 3 4 3 3
o3 200000 100000 ver 2 8 0.5 2
o3-mini 200000 100000 er 1.1 4.4 0.55 1.1
o3-pro 200000 100000 ver 20 80 20 20
o1 200000 100000 ver 15 60 7.5 15
o1-pro 200000 100000 ver 150 600 150 150
chat 272000 128000 ver 5 30 0.5 5
codex-mini 200000 100000 er 1.5 6 0.375 1.5
gpt-daybreak-blue 922000 128000 ver 4 20 0.4 5
gpt-daybreak-red 272000 128000 ver 12.5 75 1.25 15.625`,
  google: `gemma-4-31b-it 262144 32768 vl
gemma-4-26b-a4b-it 262144 32768 vl
gemini-4-argon 1048576 32768 vl 2 10 0.1 2
gemini-3.8-flash 1048576 65536 vl 0.75 3.75 0.075 0.75
gemini-3.7-flash 1048576 65536 vl 0.75 3.75 0.075 0.75
gemini-3.6-flash 1048576 65536 vl 0.75 3.75 0.075 0.75
gemini-3.5-flash 1048576 65536 vl 1.5 9 0.15 1.5
gemini-3.5-flash-lite 1048576 65536 vl 0.3 2.5 0.03 0.3
gemini-3.1-flash-lite 1048576 65536 vl 0.25 1.5 0.025 0.25
gemini-3.1-flash-lite-preview 1048576 65536 vl 0.25 1.5 0.025 0.25
gemini-3.1-pro-preview 1048576 65536 vl 2 12 0.2 2
gemini-3-flash 1000000 65000 vl 0.5 3 0.05 0.5
gemini-3-flash-preview 1048576 65536 vl 0.5 3 0.05 0.5
gemini-2.5-flash 1048576 65536 vb 0.3 2.5 0.03 0.3
gemini-2.5-flash-lite 1048576 65536 vb 0.1 0.4 0.01 0.1
gemini-2.5-flash-lite-preview-06-17 65536  vb 0.1 0.4 0.025 0.1
gemini-2.5-flash-preview-04-17 1048576 65536 vb 0.15 0.6 0.0375 0.15
gemini-2.5-flash-preview-05-20 1048576 65536 vb 0.15 0.6 0.0375 0.15
gemini-2.5-pro 1048576 65536 vb 1.25 10 0.125 1.25
gemini-2.5-pro-preview 1048576 65536 vb 1.25 10 0.125 0.375
gemini-2.5-pro-preview-05-06 1048576 65536 vb 1.25 10 0.31 1.25
gemini-2.5-pro-preview-06-05 1048576 65536 vb 1.25 10 0.31 1.25
gemini-2.0-flash 1048576 8192 v 0.1 0.4 0.025 0.1
gemini-2.0-flash-lite 1048576 8192 v 0.075 0.3 0.075 0.075
gemini-1.5-flash 1000000 8192 v 0.075 0.3 0.0187 0.075
gemini-1.5-flash-8b 1000000 8192 v 0.0375 0.15 0.01 0.0375
gemini-1.5-pro 1000000 8192 v 1.25 5 0.3125 1.25
gemini-flash 1048576 65536 vl 1.5 9 0.15 1.5
gemini-flash-lite 1048576 65536 vl 0.25 1.5 0.025 0.25
gemini-pro 1048576 65536 vl 2 12 0.2 2`,
  xai: `grok-4.20 2000000  ve 1.25 2.5 0.2 1.25
grok-4.7 500000  ve 2 6 0.5 2
grok-4.6 500000  ve 2 6 0.5 2
grok-4.5 500000  ve 2 6 0.3 2
grok-4.3 1000000 30000 ve 1.25 2.5 0.2 1.25
grok-4 256000 64000 e 3 15 0.75 3
grok-3 131072 8192 - 3 15 0.75 3
grok-3-fast 131072 8192 - 5 25 1.25 5
grok-3-mini 131072 8192 e 0.3 0.5 0.075 0.3
grok-3-mini-fast 131072 8192 e 0.6 4 0.15 0.6
grok-2 131072 8192 - 2 10 2 2
grok-2-vision 8192 4096 v 2 10 2 2
grok-build-0.1 256000  ve 1 2 0.2 1
grok-beta 131072 4096 - 5 15 5 5
grok-vision-beta 8192 4096 v 5 15 5 5`,
  deepseek: `deepseek-v4-pro 1000000 384000 e 1.32 3.96 0.044 1.32
deepseek-chat 128000 8192 - 0.57 1.68 0.07 0.57
deepseek-flash 1000000 384000 ve 0.3 1.2 0.006 0.3
deepseek-reasoner 128000  e 0.57 1.68 0.07 0.57`,
  openrouter: `meta/muse-glimmer-30b 131072 16384 ve 0.3 1.2 0.04 0.3
unbiased/pareto-26.10 1048576 131072 v 0.8 3.2 0.03 0.8
unbiased/pareto-26.9 262144 131072 v 2.5 7.5 0.25 2.5
mistralai/voxtral-small-24b 32768  - 0.1 0.3 0.01 0.1
openai/gpt-oss-20b 131072  e 0.03 0.13 0.03 0.03
openai/gpt-oss-safeguard-20b 131072 65536 e 0.075 0.3 0.0375 0.075
mistralai/ministral-14b 262144  v 0.2 0.2 0.02 0.2
mistralai/ministral-8b 262144  v 0.15 0.15 0.015 0.15
mistralai/mixtral-8x22b-instruct 65536  - 2 6 0.2 2
openai/gpt-6.1-sol 922000 128000 ve 2 10 0.1 2.5
openai/gpt-6.1-sol-pro 922000 128000 ve 2 10 0.1 2.5
openai/gpt-6.1-terra 922000 128000 ve 1 5 0.05 1.25
openai/gpt-6.1-terra-pro 922000 128000 ve 1 5 0.05 1.25
openai/gpt-6-astra 922000 128000 ve 10 50 1 12.5
openai/gpt-6-astra-pro 922000 128000 ve 10 50 1 12.5
openai/gpt-6-luna 922000 128000 ve 0.1 0.5 0.01 0.125
openai/gpt-6-luna-pro 922000 128000 ve 0.1 0.5 0.01 0.125
openai/gpt-6-sol 922000 128000 ve 2 10 0.2 2.5
openai/gpt-6-sol-pro 922000 128000 ve 2 10 0.2 2.5
openai/gpt-5.6-luna 922000 128000 ve 0.2 1.2 0.02 0.25
openai/gpt-5.6-luna-pro 922000 128000 ve 0.2 1.2 0.02 0.25
openai/gpt-5.6-sol 922000 128000 ve 4 20 0.4 5
openai/gpt-5.6-sol-pro 922000 128000 ve 4 20 0.4 5
openai/gpt-5.6-terra 922000 128000 ve 2 12 0.2 2.5
openai/gpt-5.6-terra-pro 922000 128000 ve 2 12 0.2 2.5
anthropic/claude-haiku-5.5 1000000 128000 ve 0.1 0.5 0.01 0.125
anthropic/claude-opus-5.5 1000000 128000 ve 4 20 0.2 5
anthropic/claude-sonnet-5.5 1000000 128000 ve 2 10 0.1 2.5
openai/gpt-5.5 922000 128000 ve 5 30 0.5 5
openai/gpt-5.5-pro 922000 128000 ve 30 180 30 30
openai/gpt-5.4 922000 128000 ve 2.5 15 0.25 2.5
openai/gpt-5.4-mini 272000 128000 ve 0.75 4.5 0.075 0.75
openai/gpt-5.4-nano 272000 128000 ve 0.2 1.25 0.02 0.2
openai/gpt-5.4-pro 922000 128000 ve 30 180 30 30
openai/gpt-5.3-codex 272000 128000 ve 1.75 14 0.175 1.75
z-ai/glm-5.3 1048576  e 0.08 3.6 0.076 0.08
z-ai/glm-5.3-flash 1048576 131072 ve 0.0285 0.0923 0.0285 0.0285
z-ai/glm-5.3-flashx 1048576 131072 ve 0.37 1.25 0.09 0.37
z-ai/glm-5.3-prime 1000000 131072 e 2.8 8.8 0.56 2.8
openai/gpt-5.2 272000 128000 ve 1.75 14 0.175 1.75
openai/gpt-5.2-chat 128000 32000 v 1.75 14 0.175 1.75
openai/gpt-5.2-codex 272000 128000 ve 1.75 14 0.175 1.75
openai/gpt-5.2-pro 272000 128000 ve 21 168 21 21
z-ai/glm-5.2 1048576  e 0.006 6.8 0.005 0.006
anthropic/claude-fable-5.1 1000000 128000 ve 10 50 0.25 12.5
openai/gpt-5.1 272000 128000 ve 1.25 10 0.125 1.25
openai/gpt-5.1-codex 272000 128000 ve 1.25 10 0.13 1.25
openai/gpt-5.1-codex-max 272000 128000 ve 1.25 10 0.125 1.25
openai/gpt-5.1-codex-mini 272000 128000 ve 0.25 2 0.03 0.25
z-ai/glm-5.1 202752 131072 e 1.4 4.4 0.26 1.4
anthropic/claude-fable-5 1000000 128000 ve 10 50 1 12.5
anthropic/claude-opus-5 1000000 128000 ve 5 25 0.5 6.25
anthropic/claude-sonnet-5 1000000 128000 ve 2 10 0.2 2.5
openai/gpt-5 272000 128000 ve 1.25 10 0.125 1.25
openai/gpt-5-mini 272000 128000 ve 0.25 2 0.025 0.25
openai/gpt-5-nano 272000 128000 ve 0.05 0.4 0.005 0.05
openai/gpt-5-pro 272000 128000 ve 15 120 15 15
stepfun/step-5-preview 1000000 64000 ve 1 2.7 0.1 1
z-ai/glm-5 202752 131072 e 0.6 1.9 0.119 0.6
z-ai/glm-5-turbo 202752 131072 e 1.2 4 0.24 1.2
z-ai/glm-5v-turbo 202752 131072 ve 1.2 4 0.24 1.2
google/gemma-4-31b-it 262144 16384 ve 0.2 0.4 0.2 0.2
google/gemma-4-31b-it:free 262144 32768 ve 0 0 0 0
google/gemma-4-26b-a4b-it 262144 32768 ve 0.074 0.223 0.037 0.074
google/gemma-4-26b-a4b-it:free 262144 32768 ve 0 0 0 0
x-ai/grok-4.20 2000000  ve 1.25 2.5 0.2 1.25
anthropic/claude-opus-4.8 1000000 128000 ve 5 25 0.5 6.25
anthropic/claude-opus-4.7 1000000 128000 ve 5 25 0.5 6.25
x-ai/grok-4.7 500000  ve 2 6 0.5 2
z-ai/glm-4.7 202752 131072 e 0.6 2.2 0.11 0.6
z-ai/glm-4.7-flash 131072  e 0.0605 0.4 0.0605 0.0605
anthropic/claude-opus-4.6 1000000 128000 ve 5 25 0.5 6.25
anthropic/claude-sonnet-4.6 1000000 128000 ve 3 15 0.3 3.75
x-ai/grok-4.6 500000  ve 2 6 0.5 2
z-ai/glm-4.6 202752 131072 e 0.5 2 0.1 0.5
z-ai/glm-4.6v 131072 32768 ve 0.3 0.9 0.055 0.3
anthropic/claude-haiku-4.5 200000 64000 ve 1 5 0.1 1.25
anthropic/claude-opus-4.5 200000 64000 ve 5 25 0.5 6.25
anthropic/claude-sonnet-4.5 1000000 64000 ve 3 15 0.3 3.75
x-ai/grok-4.5 500000  ve 2 6 0.3 2
z-ai/glm-4.5 131072  e 0.6 2.2 0.11 0.6
z-ai/glm-4.5-air 131072  e 0.13 0.85 0.025 0.13
z-ai/glm-4.5v 65536 16384 ve 0.6 1.8 0.11 0.6
x-ai/grok-4.3 1000000  ve 1.25 2.5 0.2 1.25
ibm-granite/granite-4.2-8b 131072  e 0.06 0.15 0.015 0.06
anthropic/claude-opus-4.1 200000 32000 ve 15 75 1.5 18.75
deepseek/deepseek-v4.1-flash 1048576  ve 0.045 0.5 0.006 0.045
deepseek/deepseek-v4.1-flash-1017 1048576 393216 ve 0.15 0.6 0.003 0.15
openai/gpt-4.1 1047576 32768 v 2 8 0.5 2
openai/gpt-4.1-mini 1047576 32768 v 0.4 1.6 0.1 0.4
openai/gpt-4.1-nano 1047576  v 0.1 0.4 0.03 0.1
deepseek/deepseek-v4-flash 1048575  e 0.091 0.182 0.0182 0.091
deepseek/deepseek-v4-flash-0731 1048576  e 0.119 0.238 0.0238 0.119
deepseek/deepseek-v4-flash-vision-exp 1048576 262144 ve 0.2156 0.6468 0.0069 0.2156
deepseek/deepseek-v4-pro 1048576 393216 e 1.6 3.2 0.135 1.6
deepseek/deepseek-v4-pro-0813 1048576  e 0.115 4 0.11 0.115
google/gemini-4-argon 1048576  ve 2 10 0.1 0.1875
meta-llama/llama-4-maverick 128000 16384 v 0.1875 0.6525 0.05 0.1875
meta-llama/llama-4-scout 327680 16384 v 0.1 0.3 0.1 0.1
mistralai/mistral-large-4-0 1048576 262144 ve 0.7 2.1 0.07 0.7
openai/gpt-4 8191 4096 - 30 60 30 30
openai/gpt-4o 128000 16384 v 2.5 10 1.25 2.5
openai/gpt-4o-2024-05-13 128000 4096 v 5 15 5 5
openai/gpt-4o-mini 128000 16384 v 0.15 0.6 0.075 0.15
tencent/hy4-preview 1048576 64000 e 0.834 2.501 0.042 0.834
upstage/solar-mini4 524288 131072 e 0.05 0.2 0.005 0.05
upstage/solar-pro4 524288 131072 e 0.15 0.6 0.03 0.15
xingchen-agi/xing4.0-29b-a4b:free 262144  e 0 0 0 0
qwen/qwen3-32b 40960 16384 e 0.08 0.28 0.08 0.08
qwen/qwen3-30b-a3b 40960 16384 e 0.12 0.5 0.12 0.12
qwen/qwen3-30b-a3b-instruct 262144  - 0.1 0.3 0.1 0.1
google/gemma-3-27b-it 131072  v 0.08 0.35 0.04 0.08
qwen/qwen3-14b 40960 16384 e 0.12 0.24 0.12 0.12
google/gemma-3-12b-it 131072 16384 v 0.05 0.15 0.05 0.05
google/gemini-3.8-flash 1048576 65536 ve 0.825 4.125 0.0825 0.0417
qwen/qwen3.8-2.4t-a95b 1000000 131072 e 2 6 0.25 2
qwen/qwen3.8-27b 262144  ve 0.15 1.875 0.0375 0.15
qwen/qwen3.8-flash 1000000 131072 ve 0.15 0.47 0.016 0.15
qwen/qwen3.8-max 1000000 131072 ve 2 6 0.25 2
qwen/qwen3.8-max-prime 1000000 131072 ve 4 12 0.5 4
qwen/qwen3.8-omni-flash 1000000 131072 ve 0.15 0.47 0.016 0.15
google/gemini-3.7-flash 1048576 65536 ve 0.75 3.75 0.075 0.0417
qwen/qwen3.7-flash 1000000 65536 ve 0.03 0.13 0.006 0.038
qwen/qwen3.7-max 1000000 131072 e 1.475 4.425 0.295 1.8438
qwen/qwen3.7-plus 1000000 131072 ve 0.32 1.28 0.064 0.4
stepfun/step-3.7-flash 256000  ve 0.2 1.15 0.04 0.2
google/gemini-3.6-flash 1048576 65536 ve 0.75 3.75 0.075 0.0417
qwen/qwen3.6-27b 262144 65536 ve 0.45 2.7 0.45 0.45
qwen/qwen3.6-35b-a3b 262144  ve 0.1 0.9 0.025 0.1
qwen/qwen3.6-flash 1000000 65536 ve 0.1875 1.125 0.1875 0.2344
qwen/qwen3.6-plus 1000000 65536 ve 0.325 1.95 0.325 0.4063
aion-labs/aion-3.5 262144 32768 e 3 6 0.75 3
aion-labs/aion-3.5-mini 262144 32768 e 0.7 1.4 0.18 0.7
google/gemini-3.5-flash 1048576 65536 ve 1.5 9 0.15 0.0833
google/gemini-3.5-flash-lite 1048576 65536 ve 0.3 2.5 0.03 0.0833
mistralai/mistral-medium-3-5 262144  ve 1.5 7.5 1.5 1.5
nvidia/nemotron-3.5-lightning 262144  e 0.07 0.2 0.04 0.07
nvidia/nemotron-3.5-lightning:free 1000000 65536 e 0 0 0 0
nvidia/nemotron-3.5-super-vl 262144  ve 0.15 0.5 0.02 0.15
nvidia/nemotron-3.5-super-vl:free 1000000 131072 ve 0 0 0 0
openai/gpt-3.5-turbo 4095  - 1 2 1 1
openai/gpt-3.5-turbo-16k 16385 4096 - 3 4 3 3
qwen/qwen3.5-122b-a10b 262144 65536 ve 0.26 2.08 0.26 0.26
qwen/qwen3.5-27b 262144 81920 ve 0.26 2.6 0.26 0.26
qwen/qwen3.5-35b-a3b 262144 81920 ve 0.14 1 0.05 0.14
qwen/qwen3.5-397b-a17b 262144  ve 0.5 3.6 0.3 0.5
qwen/qwen3.5-9b 262144  ve 0.17 0.25 0.17 0.17
qwen/qwen3.5-flash 1000000 65536 ve 0.065 0.26 0.065 0.065
qwen/qwen3.5-plus 1000000 65536 ve 0.3 1.8 0.3 0.375
qwen/qwen3.5-plus-02-15 1000000 65536 ve 0.26 1.56 0.26 0.26
stepfun/step-3.5-flash 262144 65536 e 0.1 0.3 0.1 0.1
meta-llama/llama-3.3-70b-instruct 131072 16384 - 0.1 0.32 0.1 0.1
deepseek/deepseek-v3.2 163840  e 0.26 0.38 0.13 0.26
deepseek/deepseek-v3.2-exp 163840  e 0.27 0.41 0.27 0.27
mistralai/mistral-small-3.2-24b-instruct 128000 16384 v 0.075 0.2 0.075 0.075
deepseek/deepseek-chat-v3.1 163840  e 0.25 0.95 0.13 0.25
deepseek/deepseek-v3.1-terminus 163840  e 0.27 1 0.27 0.27
google/gemini-3.1-flash-lite 1048576 65536 ve 0.25 1.5 0.025 0.0833
google/gemini-3.1-flash-lite-preview 1048576 65536 ve 0.25 1.5 0.025 0.0833
google/gemini-3.1-pro-preview 1048576 65536 ve 2 12 0.2 0.375
inclusionai/ling-3.1-flash 1000000 262144 e 0.075 0.225 0.015 0.075
meta-llama/llama-3.1-70b-instruct 131072 16384 - 0.4 0.4 0.4 0.4
meta-llama/llama-3.1-8b-instruct 131072  - 0.05 0.08 0.025 0.05
minimax/minimax-m3.1-flash 1048576 524288 ve 0.15 0.6 0.015 0.15
mistralai/mistral-medium-3.1 131072  v 0.4 2 0.04 0.4
mistralai/mistral-small-3.1-24b-instruct 128000  v 0.351 0.555 0.351 0.351
moonshotai/kimi-k3.1-pro 1048576 131072 ve 2 10 0.2 2
aion-labs/aion-3.0 131072 32768 e 3 6 0.75 3
aion-labs/aion-3.0-mini 131072 32768 e 0.7 1.4 0.18 0.7
deepseek/deepseek-chat-v3 128000  - 0.29 1.14 0.11 0.29
dots-studio/dots-3-note-preview:free 512000  ve 0 0 0 0
google/gemini-3-flash-preview 1048576 65536 ve 0.5 3 0.05 0.0833
inception/mercury-3 1000000 131072 e 0.1 0.35 0.01 0.1
inclusionai/ling-3.0-flash 262144 32768 e 0.021 0.063 0.0042 0.021
inclusionai/ling-3.0-flash-vl 131072 32768 ve 0.06 0.18 0.012 0.06
minimax/minimax-m3 524288  ve 0.3 1.2 0.06 0.3
mistralai/ministral-3b 131072  v 0.1 0.1 0.01 0.1
mistralai/mistral-medium-3 131072  v 0.4 2 0.04 0.4
moonshotai/kimi-k3 1048576 131072 ve 0.192 15 0.182 0.192
nvidia/nemotron-3-nano-30b-a3b 262144  e 0.06 0.24 0.012 0.06
nvidia/nemotron-3-nano-omni-30b-a3b-reasoning:free 256000 65536 ve 0 0 0 0
nvidia/nemotron-3-super-120b-a12b 1048576 262144 e 0.3 2.4 0.15 0.3
nvidia/nemotron-3-ultra-550b-a55b 202800  e 0.6 2.4 0.12 0.6
nvidia/nemotron-3-ultra-550b-a55b:free 1000000 65536 e 0 0 0 0
openai/o3 200000 100000 ve 2 8 0.5 2
openai/o3-pro 200000 100000 ve 20 80 20 20
qwen/qwen3-235b-a22b 262144 16384 - 0.09 0.55 0.09 0.09
qwen/qwen3-235b-a22b-thinking 128000 16384 e 0.45 3.5 0.45 0.45
qwen/qwen3-coder 262144 65536 - 0.3 1 0.1 0.3
qwen/qwen3-coder-30b-a3b-instruct 262144  - 0.07 0.28 0.07 0.07
qwen/qwen3-coder-flash 1000000 65536 - 0.195 0.975 0.039 0.2437
qwen/qwen3-coder-next 262144  - 0.12 0.8 0.07 0.12
qwen/qwen3-next-80b-a3b-instruct 262144 16384 - 0.09 1.1 0.09 0.09
qwen/qwen3-vl-235b-a22b-instruct 131072 32768 v 0.21 1.9 0.1 0.21
qwen/qwen3-vl-30b-a3b-instruct 262144 16384 v 0.15 0.6 0.15 0.15
qwen/qwen3-vl-30b-a3b-thinking 262144  ve 0.29 1 0.29 0.29
qwen/qwen3-vl-8b-instruct 262144  v 0.25 0.75 0.12 0.25
tencent/hy3 262144 128000 e 0.132 0.528 0.033 0.132
tencent/hy3-preview 262144  e 0.18 0.6 0.06 0.18
prism-ml/ternary-bonsai-2-27b 262144 32768 ve 0.075 0.5 0.0375 0.075
prism-ml/ternary-bonsai-2-9b 262144 65536 ve 0.08 0.13 0.04 0.08
minimax/minimax-m2.7 204800 131072 e 0.3 1.2 0.06 0.3
moonshotai/kimi-k2.7-code 262144  ve 0.6 3.5 0.15 0.6
moonshotai/kimi-k2.6 262144  ve 0.65 3.41 0.15 0.65
xiaomi/mimo-v2.6-flash 1048576 131072 ve 0.14 0.28 0.0028 0.14
xiaomi/mimo-v2.6-pro 1048576 131072 ve 0.435 0.87 0.0036 0.435
xiaomi/mimo-v2.6-pro-ultraspeed 1048576 131072 ve 4.35 8.7 0.036 4.35
google/gemini-2.5-flash 1048576 65535 ve 0.3 2.5 0.03 0.0833
google/gemini-2.5-flash-lite 1048576 65535 ve 0.1 0.4 0.01 0.0833
google/gemini-2.5-pro 1048576 65536 ve 1.25 10 0.125 0.375
google/gemini-2.5-pro-preview 1048576 65536 ve 1.25 10 0.125 0.375
inception/mercury-2.5 260000 65536 e 0.04 0.15 0.004 0.04
liquid/lfm-2.5-2.6b 128000 8192 e 0.35 0.5 0.04 0.35
liquid/lfm-2.5-2.6b:free 65536 8192 e 0 0 0 0
liquid/lfm-2.5-24b-a2b 128000 8192 e 0.05 0.7 0.025 0.05
minimax/minimax-m2.5 198000 32768 e 0.27 0.95 0.03 0.27
moonshotai/kimi-k2.5 262144 4096 ve 0.41 2.06 0.07 0.41
nex-agi/nex-n2.5-pro 262144  ve 0.075 0.25 0.015 0.075
qwen/qwen-2.5-72b-instruct 32768 16384 - 0.36 0.4 0.36 0.36
qwen/qwen-2.5-7b-instruct 32768  - 0.1 0.2 0.1 0.1
xiaomi/mimo-v2.5 1000000 65536 ve 0.4 2 0.08 0.4
xiaomi/mimo-v2.5-pro 262144  e 0.48 1.8 0.096 0.48
bytedance-seed/seed-2-1-turbo 262144  ve 0.5 2.5 0.5 0.5
google/gemini-nano-banana-2.1 65536  ve 1.5 7.5 1.5 1.5
minimax/minimax-m2.1 204800 131072 e 0.3 1.2 0.03 0.3
aion-labs/aion-2.0 131072 32768 e 0.8 1.6 0.2 0.8
amazon/nova-2-lite-v1 1000000 65535 ve 0.3 2.5 0.3 0.3
bytedance-seed/seed-2.0-code 262144 131072 ve 0.5 3 0.5 0.5
bytedance-seed/seed-2.0-lite 262144 131072 ve 0.25 2 0.25 0.25
bytedance-seed/seed-2.0-mini 262144 131072 ve 0.1 0.4 0.1 0.1
inception/mercury-2 128000 50000 e 0.25 0.75 0.025 0.25
meituan/longcat-2.0 1048756 262144 e 0.3 1.2 0.006 0.3
minimax/minimax-m2 204800 131072 e 0.255 1.02 0.255 0.255
moonshotai/kimi-k2 131072  - 0.57 2.3 0.57 0.57
moonshotai/kimi-k2-0905 262144 98304 - 0.6 2.5 0.6 0.6
moonshotai/kimi-k2-thinking 262144 98304 e 0.6 2.5 0.15 0.6
sakana/fugu-ultra-v2 1000000 128000 ve 5 30 0.5 5
bytedance-seed/seed-1.6 262144 32768 ve 0.25 2 0.25 0.25
bytedance-seed/seed-1.6-flash 262144 32768 ve 0.075 0.3 0.075 0.075
perceptron/perceptron-mk1.5 36864 8192 ve 0.15 1.5 0.15 0.15
meta/muse-spark-1.3 1048576  ve 1.25 4.25 0.15 1.25
meta/muse-spark-1.3-contributor 1048576  ve 0.1 0.2 0.002 0.1
meta/muse-spark-1.2 1048576  ve 1.25 4.25 0.15 1.25
meta/muse-spark-1.2-contributor 1048576  ve 0.1 0.2 0.002 0.1
meta/muse-spark-1.1 1048576  ve 1.25 4.25 0.15 1.25
amazon/nova-lite-v1 300000 5120 v 0.06 0.24 0.06 0.06
amazon/nova-micro-v1 128000 5120 - 0.035 0.14 0.035 0.035
amazon/nova-premier-v1 1000000 32000 v 2.5 12.5 0.625 2.5
amazon/nova-pro-v1 300000 5120 v 0.8 3.2 0.8 0.8
deepseek/deepseek-r1 163840 32768 e 0.5 2.15 0.35 0.5
fireworks/ember-1 1048576  ve 3 15 0.3 3
minimax/minimax-m1 1000000 40000 e 0.55 2.2 0.55 0.55
particle-ai/particle-1 1048576 131072 ve 0.05 0.5 0.003 0.05
recursive/flint-v1.0:free 262144  e 0 0 0 0
reflection/beam-1.0-501b-a23b 1048576 131072 e 0.25 1 0.05 0.25
x-ai/grok-build-0.1 256000  ve 1 2 0.2 1
auto 2000000 30000 ve
cohere/command-a-plus 192000 64000 ve 0.3 1.5 0.15 0.3
cohere/command-r 128000 4000 - 0.15 0.6 0.15 0.15
cohere/command-r-plus 128000 4000 - 2.5 10 2.5 2.5
cohere/north-mini-code:free 256000 64000 e 0 0 0 0
deepseek/deepseek-chat 128000 16000 - 0.2574 1.0287 0.2574 0.2574
elorian/glimpse 262144  ve 0.6 3 0.06 0.6
meta/muse-spark-open 1048576  ve 1.25 4.25 0.15 1.25
meta/muse-wonder 1048576  ve 4 20 0.2 4
mistralai/codestral 256000  - 0.3 0.9 0.03 0.3
mistralai/devstral 262144  - 0.4 2 0.04 0.4
mistralai/mistral-large 128000  - 2 6 0.2 2
mistralai/mistral-large-2407 131072  - 2 6 0.2 2
mistralai/mistral-large-2512 262144  v 0.5 1.5 0.05 0.5
mistralai/mistral-nemo 131072 16384 - 0.029 0.03 0.029 0.029
mistralai/mistral-saba 32768  - 0.2 0.6 0.02 0.2
mistralai/mistral-small 262144  ve 0.15 0.6 0.015 0.15
openai/gpt-chat 272000 128000 v 5 30 0.5 5
openai/gpt-oss-120b 131072 65536 e 0.15 0.6 0.075 0.15
openrouter/auto 2000000 4096 ve
openrouter/auto-beta 2000000 65536 ve
openrouter/free 200000 4096 ve
openrouter/fusion 1000000 30000 e
openrouter/pareto-code 2000000 4096 e
qwen/qwen-plus 1000000 32768 - 0.26 0.78 0.052 0.325
rekaai/reka-edge 16384  v 0.1 0.1 0.1 0.1
relace/relace-search 256000 128000 - 1 3 1 1
sakana/fugu-max 1000000 128000 ve 2 6 0.25 2
sakana/fugu-ultra 1000000 128000 ve 5 30 0.5 5
sakana/sakana-namazu 262144 65536 ve 0.95 4 0.15 0.95
thinkingmachines/inkling 524288  ve 1 4.05 0.17 1
thinkingmachines/inkling-small 524288 262144 ve 0.45 1.2 0.1 0.45
thinkingmachines/inkling-small:free 1048576 262144 ve 0 0 0 0
thinkingmachines/inkling:free 1048576 262144 ve 0 0 0 0
typesafe/jev-router 1000000 65536 ve`,
};
