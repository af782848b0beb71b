topic observer
title An observer without activities is never called
observer O none
source0 S
add O default; add S default; contains O default
run default 0.02 no
count O
--- golden
contains O default = yes
run default
ran default TIMEDOUT
count O = 0
end
