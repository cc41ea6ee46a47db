/** The style sheet of a transcript: readable on a phone, in light and dark, and on paper. */
export const STYLE = `
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--text:#1c2128;--soft:#5b6572;--line:#dfe3e8;--code:#eceff3;
--accent:#3757c9;--mine:#e9eefc;--ok:#1a7f46;--bad:#c0303a;--warn:#946200;--add:#e3f6e8;--del:#fde8e8;--hunk:#eef1fb}
@media (prefers-color-scheme:dark){:root{--page:#0f1217;--card:#171b22;--text:#e4e8ee;--soft:#98a2b0;--line:#2a313b;--code:#1e242d;
--accent:#8ea8ff;--mine:#1d2742;--ok:#57c785;--bad:#ff8189;--warn:#e2b04a;--add:#12301f;--del:#3a191d;--hunk:#1e2638}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
header,main,footer{max-width:50rem;margin:0 auto;padding:0 1rem}
header{padding-top:2rem}
h1{font-size:1.5rem;line-height:1.3;margin:.2rem 0 1rem;overflow-wrap:anywhere}
.program{margin:0;color:var(--soft);font-size:.85rem;overflow-wrap:anywhere}
.meta{width:100%;border-collapse:collapse;font-size:.875rem;background:var(--card);border:1px solid var(--line);border-radius:10px;
border-spacing:0;overflow:hidden;border-collapse:separate}
.meta th,.meta td{padding:.4rem .9rem;text-align:left;vertical-align:top;font-weight:400;overflow-wrap:anywhere}
.meta th{color:var(--soft);width:8rem;white-space:nowrap}
.meta tr+tr>*{border-top:1px solid var(--line)}
.event{margin:1rem 0;overflow-wrap:anywhere;unicode-bidi:isolate}
.who{font-size:.75rem;letter-spacing:.04em;text-transform:uppercase;color:var(--soft);margin:0 0 .25rem}
.prompt{background:var(--mine);border-radius:14px 14px 4px 14px;padding:.75rem 1rem;margin:2rem 0 1rem auto;width:fit-content;
max-width:92%}
.plain,.prompt>div{white-space:pre-wrap}
.answer>*:first-child{margin-top:0}.answer>*:last-child{margin-bottom:0}
.answer h1,.answer h2,.answer h3,.answer h4{font-size:1.1rem;margin:1.2rem 0 .4rem}
.answer table{border-collapse:collapse;display:block;overflow-x:auto;font-size:.9rem}
.answer th,.answer td{border:1px solid var(--line);padding:.3rem .6rem;overflow-wrap:normal}
.answer blockquote{margin:.6rem 0;padding-left:.9rem;border-left:3px solid var(--line);color:var(--soft)}
a{color:var(--accent)}
code,pre{font:.85em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
code{background:var(--code);border-radius:5px;padding:.1em .35em}
pre{background:var(--code);border-radius:8px;padding:.7rem .9rem;margin:.5rem 0;overflow-x:auto;white-space:pre-wrap;
overflow-wrap:anywhere}
.answer pre{white-space:pre;overflow-wrap:normal}
pre code{background:none;padding:0;font-size:1em}
details{background:var(--card);border:1px solid var(--line);border-radius:10px}
summary{cursor:pointer;padding:.5rem .9rem;font-size:.9rem;overflow-wrap:anywhere}
summary:hover{background:var(--code);border-radius:10px}
summary b{font-weight:600}
.body{padding:0 .9rem .6rem}
.body h3{font-size:.75rem;letter-spacing:.04em;text-transform:uppercase;color:var(--soft);margin:.7rem 0 .2rem;font-weight:600}
.body details{margin:.5rem 0}
.facts{color:var(--soft);font-size:.8rem}
.ok{color:var(--ok)}.failed,.error{color:var(--bad)}.unfinished,.cancelled,.warning{color:var(--warn)}
.thought summary,.thought .plain{color:var(--soft)}
.note{border-left:3px solid currentColor;padding:.1rem 0 .1rem .9rem;font-size:.9rem;white-space:pre-wrap}
.note.info{color:var(--soft)}
.diff{padding:.4rem 0;white-space:pre;overflow-wrap:normal}
.diff span{display:block;padding:0 .9rem;width:max-content;min-width:100%}
.diff .add{background:var(--add)}.diff .del{background:var(--del)}.diff .hunk{background:var(--hunk);color:var(--soft)}
.plus{color:var(--ok)}.minus{color:var(--bad)}
.end{display:flex;flex-wrap:wrap;gap:.2rem .8rem;border-bottom:1px solid var(--line);padding-bottom:1rem;font-size:.8rem}
.event.tool+.event.tool{margin-top:-.5rem}
.plan ul{list-style:none;padding:0;margin:.3rem 0}
footer{padding-bottom:3rem;color:var(--soft);font-size:.8rem}
@media (max-width:30rem){header{padding-top:1rem}h1{font-size:1.25rem}.meta th{width:6.5rem}.prompt{max-width:100%}}
@media print{body{background:none}details{break-inside:avoid}}
`;
