topic empty
title Adding an invalid source does nothing
source0 S
invalidate S
add S default
contains S default
run default 1 no
--- golden
contains S default = no
run default
ran default FINISHED
end
