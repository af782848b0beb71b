topic observer
title A non-repeating exit observer
observer O exit repeats=no
source0 S
add O default; add S default
run default 0.02 no
run default 0.02 no
valid O
--- golden
run default
observer O exit mode=default
ran default TIMEDOUT
run default
ran default TIMEDOUT
valid O = no
end
