topic block
title A block queued in exit stays for the next run
observer O exit
source0 K
block B
on O #1: perform B default
add O default; add K default
run default 0 no
note between
run default 0 no
--- golden
run default
observer O exit mode=default
ran default TIMEDOUT
note between
run default
block B mode=default
observer O exit mode=default
ran default TIMEDOUT
end
